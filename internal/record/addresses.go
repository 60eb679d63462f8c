package record

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
)

// addresses finds the addresses of a process's frames. A frame is a place in a file; a callchain has
// addresses.
type addresses struct {
	objects map[callchain.ObjectID]*process.Object // of the process table
	recent  [1 << recentBits]recentMapping
}

// recentMapping is where the code of an object's last frame was in a process.
type recentMapping struct {
	version uint64 // of the process's mappings, which no other process has; 0: none
	mapped  process.Mapped
}

// recentBits is the logarithm of the number of mappings that are remembered.
const recentBits = 8

// of returns the address of a frame's Offset, or 0 if it is in memory that no mapping explains.
func (a *addresses) of(p *process.Process, f callchain.Frame) uint64 {
	switch o := a.objects[f.Object]; {
	case o == nil:
		return 0
	case o.Kind != process.File && o.Kind != process.VDSO:
		return f.Offset
	}
	version := p.Version()
	r := &a.recent[(version^uint64(f.Object)<<32)*0x9e3779b97f4a7c15>>(64-recentBits)]
	if m := &r.mapped; r.version != version || m.Object.ID != f.Object || !covers(m, f.Offset) {
		found, ok := mappingOf(p, f)
		if !ok {
			return 0
		}
		r.version, r.mapped = version, found
	}
	return f.Offset - r.mapped.Offset + r.mapped.Start
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
