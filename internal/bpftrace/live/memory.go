package live

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
	"github.com/ringtap/ringtap/internal/readmem/athit"
	"github.com/ringtap/ringtap/internal/readmem/usertext"
)

// memory returns a getter that follows a path from a pointer in the record through the memory of the
// process.
func (s *source) memory(name string, src *check.Source) (getter, error) {
	f := s.probe.Format.Field(name)
	switch {
	case f == nil:
		return nil, fmt.Errorf("%s has no field %s", s.probe.Format.Name, name)
	case src.Form == check.Vector:
		return nil, fmt.Errorf("join() takes a parameter of the system call itself, not what %s leads to", name)
	}
	n := len(s.reads)
	s.reads = append(s.reads, athit.Pointer{Offset: f.Offset, Path: offsets(src.Path), Raw: true, Limit: Size(src), AtArrival: true})
	return func(h *hit) value.Value { return h.loaded(n, src) }, nil
}

// loaded returns the value of the n-th read of the hit's source.
func (h *hit) loaded(n int, src *check.Source) value.Value {
	found := h.found()[len(h.source.event.Kept)+n]
	v := Loaded(found.Bytes, src)
	if found.Certainty == athit.Unknown || found.Certainty >= athit.Exact {
		return v
	}
	if !h.countedLate {
		h.countedLate = true
		h.feed.account.Late++
	}
	return v.Late()
}

// found returns the memory that the hit's pointers led to: the pointers of plan.Event.Kept, then of the source's
// reads, then of plan.Event.Walks. A walk may have led to several pieces of memory.
func (h *hit) found() []athit.Found {
	if h.taken == nil {
		h.taken = h.feed.reader.Take(h.sample.Sampling, h.sample)
	}
	return h.taken
}

// foundAt returns the memory from an address of the process on, as far as the Reader has read it for the hit. exact
// is false if the memory may have changed since the hit.
func (h *hit) foundAt(addr uint64) (b []byte, exact bool) {
	for i, found := range h.found() {
		n := i - len(h.source.event.Kept)
		if 0 <= n && n < len(h.source.reads) && !slices.Equal(h.source.reads[n].Path, []int64{0}) {
			continue // Bytes are not at Addr
		}
		if from := addr - found.Addr; found.Read && from < uint64(len(found.Bytes)) {
			return found.Bytes[from:], found.Certainty >= athit.Exact
		}
	}
	return nil, false
}

// maxFound bounds what is read at a hit, in bytes.
const maxFound = 64 << 10

// newReader returns the Reader of the memory that the hits' pointers lead to.
func (a *Attachment) newReader() *athit.Reader {
	events := make([]athit.Event, len(a.sources))
	for i, s := range a.sources {
		events[i] = s.pointers()
	}
	return athit.New(events, athit.Options{Logger: a.options.Logger})
}

// pointers returns the pointers that hits of a source have: see hit.found.
func (s *source) pointers() (event athit.Event) {
	limit := maxFound / max(len(s.event.Kept)+len(s.reads)+len(s.event.Walks), 1)
	for _, k := range s.event.Keeps {
		if p, ok := s.pointerIn(k.Field); ok && (p.InRegister || s.event.Place == plan.Tracepoint) {
			p.Saved = k.Slot
			event.Saves = append(event.Saves, p)
		}
	}
	for _, k := range s.event.Kept {
		event.Pointers = append(event.Pointers, athit.Pointer{Saved: k.Slot, Path: []int64{0}, Raw: true, Limit: min(k.Size, limit)})
	}
	for _, p := range s.reads {
		p.Limit = min(p.Limit, limit)
		event.Pointers = append(event.Pointers, p)
	}
	for _, w := range s.event.Walks {
		if p, ok := s.walk(w, limit); ok {
			event.Pointers = append(event.Pointers, p)
		}
	}
	return event
}

// walk returns the pointer at which a walk starts. The walk reads limit bytes at most.
func (s *source) walk(w plan.Walk, limit int) (p athit.Pointer, ok bool) {
	p, ok = s.pointerIn(w.Field)
	p.Path, p.Raw, p.Limit, p.Next = []int64{0}, true, min(w.Size, limit), w.Next
	if len(w.Next) > 0 {
		each := limit / athit.MaxNodes / (1 + len(w.Leaves))
		p.Limit, p.Leaves, p.LeafLimit = min(w.Size, each), w.Leaves, min(w.LeafSize, each)
	}
	return p, ok
}

// pointerIn returns where a hit has the pointer in a field of the source's records: in a register, or else in the
// record.
func (s *source) pointerIn(field string) (p athit.Pointer, ok bool) {
	i := slices.IndexFunc(s.probe.Args, func(arg ftrace.FetchArg) bool { return arg.Name == field })
	if i >= 0 {
		p.Register, p.InRegister = usertext.Register(s.probe.Args[i].Fetch)
	}
	if f := s.probe.Format.Field(field); f != nil {
		p.Offset = f.Offset
		return p, true
	}
	return p, p.InRegister
}

// offsets converts a path to the form of athit.Pointer.Path: the offset to add to each address on the way.
func offsets(path []check.Step) []int64 {
	all := []int64{0}
	for _, step := range path {
		all[len(all)-1] += int64(step.Offset)
		if step.Deref {
			all = append(all, 0)
		}
	}
	return all
}

// Follow returns size bytes at the end of a path that starts at addr, or as many as can be read.
// read returns fewer bytes than size if memory can't be read.
func Follow(addr uint64, path []check.Step, size int, read func(addr uint64, size int) []byte) []byte {
	for _, step := range path {
		addr += uint64(int64(step.Offset))
		if !step.Deref {
			continue
		}
		pointer := read(addr, 8)
		if len(pointer) < 8 {
			return nil
		}
		addr = binary.NativeEndian.Uint64(pointer)
	}
	return read(addr, size)
}

// Size returns how many bytes of memory a value takes, at most.
func Size(src *check.Source) int {
	if src.Form == check.Plain {
		return src.Type.Size
	}
	return src.Size
}

// Loaded returns the value that bytes from memory represent. Bytes that could not be
// read are zero.
func Loaded(b []byte, src *check.Source) value.Value {
	switch src.Form {
	case check.Plain:
		return value.Load(src.Type, string(b))
	case check.Text:
		return value.String(cut(b, src))
	}
	return value.String(string(b))
}
