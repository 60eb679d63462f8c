package process

// Mapped is executable memory of a process.
type Mapped struct {
	Start, End uint64 // addresses
	Offset     uint64 // in the object, as that of a callchain.Frame at Start
	Object     *Object
}

// Mapped calls yield with the executable mappings by address, until it returns
// false. Unlike Find it makes no unwind table: what is mapped is known, not used.
func (p *Process) Mapped(yield func(Mapped) bool) {
	for i := range p.mappings {
		m := &p.mappings[i]
		if !yield(Mapped{m.start, m.end, m.offset, m.object}) {
			return
		}
	}
}
