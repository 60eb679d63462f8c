package symbols

import (
	"debug/elf"
	"sync"

	"github.com/ringtap/ringtap/internal/elfimage"
	"github.com/ringtap/ringtap/internal/pytable"
)

// impliedNames are the names that a file's own data have for its functions.
type impliedNames struct {
	once  sync.Once
	names map[uint64]string // by virtual address
}

// Implied returns the function that holds the byte at fileOffset by what the data of the
// file tell of it: CPython and its extension modules have tables of their functions, and a
// stripped file has them too (list.append, list.tp_dealloc). It is for code that Lookup has
// no name for. Files that have a symbol table, or a debug file with one, have none.
//
// These are no symbols: no probe finds them. Their dots tell them from the names of C.
func (f *File) Implied(fileOffset uint64) (Symbol, bool) {
	n := &f.implied
	n.once.Do(func() { n.names = f.readImplied() })
	if len(n.names) == 0 {
		return Symbol{}, false
	}
	start, size, ok := f.Bounds(fileOffset)
	if !ok {
		return Symbol{}, false
	}
	addr, ok := f.image.Vaddr(start)
	name := n.names[addr]
	return Symbol{Name: name, Start: start, Size: size}, ok && name != ""
}

// readImplied reads the tables of a file that has them and no symbol table. Tables that
// can't be read name nothing.
func (f *File) readImplied() map[uint64]string {
	for _, from := range []func() (*elfimage.Image, error){f.own, f.debugImage} {
		image, _ := from()
		if image == nil {
			continue
		}
		if _, has := image.SectionOf(elf.SHT_SYMTAB); has {
			return nil
		}
	}
	types, ok := f.pythonTypes()
	if !ok {
		return nil
	}
	names, _ := pytable.Functions(f.image, types)
	return names
}

// maxDynsym is how many bytes of dynamic symbols are looked at: those of 300,000.
const maxDynsym = 8 << 20

// pythonTypes tells whether a file is of CPython 3 or a module for it, by its dynamic
// symbols, and where it has the type of types.
func (f *File) pythonTypes() (t pytable.Type, ok bool) {
	m := f.image
	size := int(symbolSize(m))
	dynsym, has := m.SectionOf(elf.SHT_DYNSYM)
	if !has || uint64(dynsym.Link) >= uint64(len(m.Sections)) || dynsym.Size > maxDynsym {
		return t, false
	}
	text, err := m.Bytes(&m.Sections[dynsym.Link])
	if err != nil {
		return t, false
	}
	entries, err := m.Bytes(dynsym)
	if err != nil {
		return t, false
	}
	for ; len(entries) >= size; entries = entries[size:] {
		s := decodeSymbol(m, entries)
		switch string(cbytes(text, uint64(s.name), len("PyModuleDef_Init")+1)) {
		case "PyModuleDef_Init", "PyModule_Create2":
			ok = true
		case "PyType_Type":
			t = pytable.Type{Addr: s.value, Size: s.size}
		}
	}
	return t, ok
}
