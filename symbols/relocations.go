package symbols

import "debug/elf"

// relocation is one Elf32_Rel, Elf32_Rela, Elf64_Rel or Elf64_Rela.
type relocation struct {
	where  uint64
	symbol uint32
	typ    uint32
	addend uint64 // 0 in the forms without one
}

// relocationChunk is how many relocations are held while a table is read.
const relocationChunk = 4096

// relocations calls visit with the entries of a relocation table at a file
// offset until it returns false.
func (m *image) relocations(offset, size uint64, rela bool, visit func(relocation) bool) {
	entsize := 2 * m.wordSize()
	if rela {
		entsize = 3 * m.wordSize()
	}
	for done := uint64(0); done+entsize <= size; {
		b, err := m.read(offset+done, min(relocationChunk*entsize, size-done), relocationChunk*entsize)
		if err != nil {
			return
		}
		for ; uint64(len(b)) >= entsize; b = b[entsize:] {
			done += entsize
			if !visit(m.relocation(b, rela)) {
				return
			}
		}
	}
}

func (m *image) relocation(b []byte, rela bool) relocation {
	word := m.wordSize()
	r := relocation{where: m.word(b)}
	info := m.word(b[word:])
	if m.is64 {
		r.symbol, r.typ = uint32(info>>32), uint32(info)
	} else {
		r.symbol, r.typ = uint32(info>>8), uint32(info&0xff)
	}
	if rela {
		r.addend = m.word(b[2*word:])
	}
	return r
}

// relatives calls visit with every relocation by which the loader puts an
// address of the file itself (plus where it was loaded) somewhere. Tables whose
// addends lie in place need none of this: the bytes in the file are right.
func (m *image) relatives(visit func(where, addend uint64) bool) {
	var relative uint32
	switch m.machine {
	case elf.EM_X86_64:
		relative = uint32(elf.R_X86_64_RELATIVE)
	case elf.EM_AARCH64:
		relative = uint32(elf.R_AARCH64_RELATIVE)
	default:
		return
	}
	tags := m.dynamic()
	if off, ok := m.offset(tags[elf.DT_RELA]); ok && tags[elf.DT_RELA] != 0 {
		m.relocations(off, tags[elf.DT_RELASZ], true, func(r relocation) bool {
			return r.typ != relative || visit(r.where, r.addend)
		})
	}
}
