package live

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/script/check"
	"github.com/ringtap/ringtap/internal/script/value"
	"github.com/ringtap/ringtap/perfevent"
)

// stackCopy is how much of the stack comes with a hit whose clauses read the process's memory,
// in bytes: what a function hands to a system call is often one of its variables.
const stackCopy = 2 << 10

// memory returns what follows a path from a pointer in the record through the memory of the
// process. What is not in the copy of its stack another process reads while the thread stands still; what
// that could not read is read when the hit's record comes, which is later than the hit.
func (s *source) memory(name string, of *check.Source) (getter, error) {
	f := s.probe.Format.Field(name)
	switch {
	case f == nil:
		return nil, fmt.Errorf("%s has no field %s", s.probe.Format.Name, name)
	case of.Form == check.Vector:
		return nil, fmt.Errorf("join() takes a parameter of the system call itself, not what %s leads to", name)
	}
	n := len(s.reads)
	s.reads = append(s.reads, read{f, of.Path, Size(of)})
	return func(h *hit) value.Value {
		if b, ok := h.keptPiece(n); ok {
			return Loaded(b, of)
		}
		taken := h.memory()
		if n >= len(taken.pieces) {
			return Loaded(nil, of)
		}
		v := Loaded(taken.pieces[n], of)
		if taken.late {
			v = v.Late()
		}
		return v
	}, nil
}

// read is what is read of a process at each hit of a source: size bytes at the end of a path
// from the pointer in a field.
type read struct {
	from *ftrace.Field
	path []check.Step
	size int
}

// of returns the bytes at a sample, as many as can be read, and whether any of them was read
// later than the hit.
func (r *read) of(s *perfevent.Sample, host process.Host) (b []byte, late bool) {
	at, _ := r.from.Uint(s.Raw)
	b = Follow(at, r.path, r.size, func(addr uint64, size int) []byte {
		b, l := memoryAt(s, host, addr, size)
		late = late || l
		return b
	})
	return b, late
}

// Follow returns size bytes at the end of a path that starts at an address, as many as can be read.
// What read returns is shorter than the size where memory can't be read.
func Follow(at uint64, path []check.Step, size int, read func(addr uint64, size int) []byte) []byte {
	for _, step := range path {
		at += uint64(int64(step.Offset))
		if !step.Deref {
			continue
		}
		pointer := read(at, 8)
		if len(pointer) < 8 {
			return nil
		}
		at = binary.NativeEndian.Uint64(pointer)
	}
	return read(at, size)
}

// memoryAt reads memory out of a sample's copy of the stack, or now.
func memoryAt(s *perfevent.Sample, host process.Host, addr uint64, size int) (b []byte, late bool) {
	if known := stackFrom(s, addr); len(known) >= size {
		return bytes.Clone(known[:size]), false
	}
	b = make([]byte, size)
	return b[:host.ReadMemory(int(s.PID), addr, b)], true
}

// memories is what was read for samples when they came, which is before their turn.
type memories struct {
	mu   sync.Mutex
	read map[sampleKey]taken
}

// taken is what was read for one sample.
type taken struct {
	pieces [][]byte
	late   bool // some of it was read after the hit
}

// sampleKey names a sample.
type sampleKey struct {
	time     uint64
	tid, cpu uint32
}

// maxMoments bounds the samples whose memory is kept.
const maxMoments = 1 << 16

// take reads what the clauses of a source want of the memory at a sample.
func (m *memories) take(s *source, sample *perfevent.Sample, host process.Host) {
	var all taken
	for i := range s.reads {
		b, late := s.reads[i].of(sample, host)
		all.pieces, all.late = append(all.pieces, b), all.late || late
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.read == nil || len(m.read) >= maxMoments {
		m.read = make(map[sampleKey]taken)
	}
	m.read[sampleKey{sample.Time, sample.TID, sample.CPU}] = all
}

// memory returns what was read for the hit.
func (h *hit) memory() *taken {
	if h.taken == nil {
		m := &h.feed.memories
		key := sampleKey{h.sample.Time, h.sample.TID, h.sample.CPU}
		m.mu.Lock()
		taken := m.read[key]
		delete(m.read, key)
		m.mu.Unlock()
		h.taken = &taken
		if taken.late {
			h.feed.account.Late++
		}
	}
	return h.taken
}

// Size is how many bytes of memory a value is made of, at most.
func Size(of *check.Source) int {
	if of.Form == check.Plain {
		return of.Type.Size
	}
	return of.Size
}

// Loaded is a value out of memory. What could not be read is zero.
func Loaded(b []byte, of *check.Source) value.Value {
	switch of.Form {
	case check.Plain:
		return value.Load(of.Type, string(b))
	case check.Text:
		return value.String(cut(b, of))
	}
	return value.String(string(b))
}
