package symbols

import (
	"debug/elf"
	"sync"

	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/object/pytable"
)

// impliedNames are the names that the file's data imply for its functions.
type impliedNames struct {
	once  sync.Once
	names map[uint64]string // by virtual address
}

// Implied returns the function that contains the byte at fileOffset, named after the file's own
// data. CPython and its extension modules have tables of their functions, even in stripped
// files (list.append, list.tp_dealloc). Use it if Lookup has no name. Files with a symbol
// table, or with a debug file that has one, have no implied names.
//
// These names are not symbols, so probes cannot use them. Their dots distinguish them from C
// names.
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

// readImplied reads the tables, unless there is a symbol table. Tables that cannot be read add
// no names.
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

// maxDynsym limits the dynamic symbols that are read, in bytes. It is enough for 300,000
// symbols.
const maxDynsym = 8 << 20

// pythonTypes reports whether the file is CPython 3 or an extension module, judging by its
// dynamic symbols. t is the location of PyType_Type, the type of all types.
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
