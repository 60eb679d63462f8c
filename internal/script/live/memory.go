package live

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/ringtap/ringtap/internal/script/check"
	"github.com/ringtap/ringtap/internal/script/value"
)

// memory returns what follows a path from a pointer in the record through the memory of the
// process. It is read when the hit is looked at, which is later than the hit.
func (s *source) memory(name string, of *check.Source) (getter, error) {
	f := s.probe.Format.Field(name)
	switch {
	case f == nil:
		return nil, fmt.Errorf("%s has no field %s", s.probe.Format.Name, name)
	case of.Form == check.Vector:
		return nil, fmt.Errorf("join() takes a parameter of the system call itself, not what %s leads to", name)
	}
	size := of.Type.Size
	if of.Form != check.Plain {
		size = of.Size
	}
	return func(h *hit) value.Value {
		at, _ := f.Uint(h.raw)
		for _, step := range of.Path {
			at += uint64(int64(step.Offset))
			if !step.Deref {
				continue
			}
			b := h.read(at, 8)
			if len(b) < 8 {
				return value.Value{}
			}
			at = binary.NativeEndian.Uint64(b)
		}
		return loaded(h.read(at, size), of)
	}, nil
}

// read reads memory of the process of the hit. It returns what can be read of it.
func (h *hit) read(addr uint64, size int) []byte {
	h.feed.late++
	b := make([]byte, size)
	return b[:h.feed.processes.Host().ReadMemory(int(h.sample.PID), addr, b)]
}

// loaded is a value out of memory. What could not be read is zero.
func loaded(b []byte, of *check.Source) value.Value {
	switch of.Form {
	case check.Plain:
		return value.Load(of.Type, string(b))
	case check.Text:
		b, _, _ = bytes.Cut(b, []byte{0})
		return value.String(cut(b, of))
	}
	return value.String(string(b))
}
