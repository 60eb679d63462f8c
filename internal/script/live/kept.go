package live

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/exacttext"
	"github.com/ringtap/ringtap/internal/script/check"
	"github.com/ringtap/ringtap/internal/script/plan"
	"github.com/ringtap/ringtap/internal/usertext"
	"github.com/ringtap/ringtap/perfevent"
)

// pointed is memory that another process reads at each hit while the thread stands still: at addresses
// that threads have kept in maps, and where pointers in records lead to.
type pointed struct {
	reader    *exacttext.Reader // nil if there is none
	samplings []int             // the reader's, of each source, or -1
}

// mostKept bounds what is read at a hit, in bytes.
const mostKept = 64 << 10

// startKept begins to read memory where the events' plans ask for it. What can't be read so is read
// later.
func (a *Attachment) startKept() {
	a.pointed.samplings = make([]int, len(a.sources))
	var all []exacttext.Sampling
	wanted := false
	for i, s := range a.sources {
		a.pointed.samplings[i] = -1
		if len(s.event.Keeps)+len(s.event.Kept)+len(s.reads)+len(s.event.Walks) == 0 {
			continue
		}
		sampling := exacttext.Sampling{Sampling: s.probe.Sampling()}
		for _, k := range s.event.Keeps {
			if register, ok := s.register(k.Field); ok {
				sampling.Keeps = append(sampling.Keeps, exacttext.Keep{Slot: k.Slot, InRegister: true, Register: register})
			} else if f := s.probe.Format.Field(k.Field); f != nil && s.event.Place == plan.Tracepoint {
				sampling.Keeps = append(sampling.Keeps, exacttext.Keep{Slot: k.Slot, Offset: f.Offset})
			}
		}
		most := mostKept / max(len(s.event.Kept)+len(s.reads)+len(s.event.Walks), 1)
		for _, k := range s.event.Kept {
			sampling.Texts = append(sampling.Texts, exacttext.Text{Kept: k.Slot, Path: []int64{0}, Raw: true, Limit: min(k.Size, most)})
		}
		for _, r := range s.reads {
			sampling.Texts = append(sampling.Texts, exacttext.Text{Offset: r.from.Offset, Path: offsets(r.path), Raw: true, Limit: min(r.size, most)})
		}
		for _, w := range s.event.Walks { // last: each may find several pieces
			text, ok := s.walk(w, most)
			if ok {
				sampling.Texts = append(sampling.Texts, text)
			}
		}
		wanted = wanted || len(sampling.Texts) > 0
		a.pointed.samplings[i] = len(all)
		all = append(all, sampling)
	}
	if !wanted || !a.options.Near {
		return
	}
	reader, err := exacttext.Start(a.options.Target, all, exacttext.Options{Logger: a.options.Logger})
	if err != nil {
		a.options.Logger.Info("memory of processes is read late", "error", err)
		return
	}
	a.pointed.reader = reader
}

// walk returns what a helper reads for a walk, in limit bytes.
func (s *source) walk(w plan.Walk, limit int) (t exacttext.Text, ok bool) {
	t = exacttext.Text{Path: []int64{0}, Raw: true, Limit: min(w.Size, limit), Next: w.Next}
	if len(w.Next) > 0 {
		each := limit / exacttext.MaxNodes / (1 + len(w.Leaves))
		t.Limit, t.Leaves, t.LeafLimit = min(w.Size, each), w.Leaves, min(w.LeafSize, each)
	}
	if register, ok := s.register(w.Field); ok {
		t.InRegister, t.Register = true, register
		return t, true
	}
	f := s.probe.Format.Field(w.Field)
	if f == nil {
		return t, false
	}
	t.Offset = f.Offset
	return t, true
}

// offsets returns a path as package exacttext takes it: what is added to each address on the way.
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

// register returns the number of the register that a field of a source's record was in.
func (s *source) register(field string) (number int, ok bool) {
	i := slices.IndexFunc(s.probe.Args, func(arg ftrace.FetchArg) bool { return arg.Name == field })
	if i < 0 {
		return 0, false
	}
	return usertext.Register(s.probe.Args[i].Fetch)
}

// keptAt returns what was at an address of the process at the hit, from there on, and whether it was
// read while the thread stood still.
func (h *hit) keptAt(addr uint64) (b []byte, exact bool) {
	for _, found := range h.takeKept() {
		if from := addr - found.Addr; found.Read && from < uint64(len(found.Bytes)) {
			return found.Bytes[from:], h.keptExact
		}
	}
	return nil, false
}

// takeKept returns what was read at the hit while the thread stood still: at the addresses of
// plan.Event.Kept, and then what the clauses read.
func (h *hit) takeKept() []exacttext.Found {
	k := &h.feed.pointed
	if k.reader == nil || k.samplings[h.sample.Sampling] < 0 {
		return nil
	}
	if !h.keptTaken {
		h.kept, h.keptExact = k.reader.Take(k.samplings[h.sample.Sampling], h.sample)
		h.keptTaken = true
	}
	return h.kept
}

// keptPiece returns what the n-th read of the source found while the thread stood still, false if it
// was not read so.
func (h *hit) keptPiece(n int) (b []byte, ok bool) {
	all := h.takeKept()
	n += len(h.source.event.Kept)
	if n >= len(all) || !all[n].Read || !h.keptExact {
		return nil, false
	}
	return all[n].Bytes, true
}

// keptText returns the text at an address of the process at the hit.
func (h *hit) keptText(addr uint64) (text string, exact, ok bool) {
	b, exact := h.keptAt(addr)
	b, _, ok = bytes.Cut(b, []byte{0})
	return string(b), exact, ok
}

// restedKept says from when on hits came so fast that not all memory was read while threads stood
// still; "" if they never did.
func (a *Attachment) restedKept() string {
	if a.pointed.reader == nil {
		return ""
	}
	since, lasted := a.pointed.reader.Rested()
	if since == 0 {
		return ""
	}
	at := time.Now().Add(-time.Duration(perfevent.Now() - since))
	return fmt.Sprintf("hits came too fast from %s on, for %v of CPU time: memory was read a moment after them",
		at.Format("15:04:05.000"), lasted.Round(time.Millisecond))
}

// endKept ends what startKept has begun.
func (a *Attachment) endKept() error {
	if a.pointed.reader == nil {
		return nil
	}
	defer func() { a.pointed.reader = nil }()
	return a.pointed.reader.Close()
}
