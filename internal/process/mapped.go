package process

// Mapped is an executable mapping of a process.
type Mapped struct {
	Start, End uint64 // addresses
	Offset     uint64 // in the object: the Offset of a callchain.Frame at Start
	Object     *Object
}

// Mapped calls yield with the executable mappings, by address, until yield returns false.
// Unlike Find it does not make unwind tables.
func (p *Process) Mapped(yield func(Mapped) bool) {
	for i := range p.mappings {
		m := &p.mappings[i]
		if !yield(Mapped{m.start, m.end, m.offset, m.object}) {
			return
		}
	}
}
