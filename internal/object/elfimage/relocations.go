package elfimage

import "debug/elf"

// Relocation is one Elf32_Rel, Elf32_Rela, Elf64_Rel or Elf64_Rela.
type Relocation struct {
	Where  uint64 // virtual address
	Symbol uint32
	Type   uint32
	Addend uint64 // 0 in forms without one
}

// relocationChunk is how many relocations are read at once.
const relocationChunk = 4096

// Relocations calls visit with the entries of the relocation table at a file offset, until
// visit returns false. It skips a table whose size or holes are impossible in a real file.
func (m *Image) Relocations(offset, size uint64, rela bool, visit func(Relocation) bool) {
	entsize := 2 * m.WordSize()
	if rela {
		entsize = 3 * m.WordSize()
	}
	if size > maxTable || m.CheckHoles(offset, size) != nil {
		return
	}
	for done := uint64(0); done+entsize <= size; {
		b, err := m.Read(offset+done, min(relocationChunk*entsize, size-done), relocationChunk*entsize)
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

func (m *Image) relocation(b []byte, rela bool) Relocation {
	word := m.WordSize()
	r := Relocation{Where: m.Word(b)}
	info := m.Word(b[word:])
	if m.Is64 {
		r.Symbol, r.Type = uint32(info>>32), uint32(info)
	} else {
		r.Symbol, r.Type = uint32(info>>8), uint32(info&0xff)
	}
	if rela {
		r.Addend = m.Word(b[2*word:])
	}
	return r
}

// Relatives calls visit with every relocation that makes the loader write an address in the
// file itself, plus the load address. Tables with the addends in place are not visited: the
// bytes in the file are right already.
func (m *Image) Relatives(visit func(where, addend uint64) bool) {
	var relative uint32
	switch m.Machine {
	case elf.EM_X86_64:
		relative = uint32(elf.R_X86_64_RELATIVE)
	case elf.EM_AARCH64:
		relative = uint32(elf.R_AARCH64_RELATIVE)
	default:
		return
	}
	tags := m.Dynamic()
	if off, ok := m.Offset(tags[elf.DT_RELA]); ok && tags[elf.DT_RELA] != 0 {
		m.Relocations(off, tags[elf.DT_RELASZ], true, func(r Relocation) bool {
			return r.Type != relative || visit(r.Where, r.Addend)
		})
	}
}
