package record

import (
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
)

// Markers of a callchain's parts (enum perf_callchain_context in include/uapi/linux/perf_event.h).
const (
	contextKernel = ^uint64(-unix.PERF_CONTEXT_KERNEL - 1)
	contextUser   = ^uint64(-unix.PERF_CONTEXT_USER - 1)
)

// addresses finds the addresses of a process's frames. A frame is a place in a file; a callchain has
// addresses.
type addresses struct {
	objects  map[callchain.ObjectID]*process.Object // of the process table
	index    int                                    // of the process that mapped is about
	version  uint64
	mappings map[callchain.ObjectID]process.Mapped // of the process, by object: the one used last
}

// appendTo appends the addresses of a process's frames, leaf first. For a caller it is the address to
// which the call returns, as the kernel's own walk has it.
func (a *addresses) appendTo(chain []uint64, p *process.Process, frames []callchain.Frame) []uint64 {
	if a.mappings == nil || a.index != p.Index || a.version != p.Version() {
		a.index, a.version, a.mappings = p.Index, p.Version(), make(map[callchain.ObjectID]process.Mapped)
	}
	for _, f := range frames {
		if address, ok := a.of(p, f); ok {
			if f.Return {
				address++
			}
			chain = append(chain, address)
		}
	}
	return chain
}

// of returns the address of a frame's Offset.
func (a *addresses) of(p *process.Process, f callchain.Frame) (uint64, bool) {
	switch o := a.objects[f.Object]; {
	case o == nil:
		return 0, false
	case o.Kind != process.File && o.Kind != process.VDSO:
		return f.Offset, true
	}
	m, ok := a.mappings[f.Object]
	if !ok || !covers(&m, f.Offset) {
		if m, ok = mappingOf(p, f); !ok {
			return 0, false
		}
		a.mappings[f.Object] = m
	}
	return f.Offset - m.Offset + m.Start, true
}

// covers reports whether an offset in the object is within a mapping of it.
func covers(m *process.Mapped, offset uint64) bool {
	return offset >= m.Offset && offset-m.Offset < m.End-m.Start
}

// mappingOf returns the mapping that has a frame's code.
func mappingOf(p *process.Process, f callchain.Frame) (found process.Mapped, ok bool) {
	p.Mapped(func(m process.Mapped) bool {
		if ok = m.Object.ID == f.Object && covers(&m, f.Offset); ok {
			found = m
		}
		return !ok
	})
	return found, ok
}
