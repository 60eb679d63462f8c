package symbols

import (
	"debug/elf"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// Variable returns the raw name of the variable that contains the virtual address addr, and
// the variable's own address. ok is false if no symbol says so, or if addr is not in the
// file's segments.
func (f *File) Variable(addr uint64) (name string, start uint64, ok bool) {
	if !f.loads(addr) {
		return "", 0, false
	}
	for _, from := range []func() (*elfimage.Image, error){f.own, f.debugImage} {
		m, _ := from()
		if m == nil {
			continue
		}
		for _, table := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
			symtab, found := m.SectionOf(table)
			if !found || table == elf.SHT_DYNSYM && m != f.image {
				continue
			}
			if name, start, ok := variableIn(m, symtab, addr); ok {
				return name, start, true
			}
		}
	}
	return "", 0, false
}

func (f *File) loads(addr uint64) bool {
	for i := range f.image.Segments {
		if s := &f.image.Segments[i]; s.Type == elf.PT_LOAD && addr-s.Vaddr < s.Memsz {
			return true
		}
	}
	return false
}

// variableIn searches one symbol table for the variable that contains addr.
func variableIn(m *elfimage.Image, symtab *elf.SectionHeader, addr uint64) (name string, start uint64, ok bool) {
	entsize := symbolSize(m)
	if uint64(symtab.Link) >= uint64(len(m.Sections)) || symtab.Size/entsize > maxEntries {
		return "", 0, false
	}
	for index := uint64(0); index < symtab.Size/entsize; {
		chunk, err := m.Read(symtab.Offset+index*entsize, min(symbolChunk, symtab.Size-index*entsize), symbolChunk)
		if err != nil || uint64(len(chunk)) < entsize {
			return "", 0, false
		}
		for ; uint64(len(chunk)) >= entsize; chunk = chunk[entsize:] {
			index++
			s := decodeSymbol(m, chunk)
			if elf.ST_TYPE(s.info) != elf.STT_OBJECT || elf.SectionIndex(s.index) == elf.SHN_UNDEF || addr-s.value >= s.size {
				continue
			}
			strtab, err := m.Bytes(&m.Sections[symtab.Link])
			if err != nil {
				return "", 0, false
			}
			return string(cbytes(strtab, uint64(s.name), maxVariable)), s.value, true
		}
	}
	return "", 0, false
}

const maxVariable = 4 << 10
