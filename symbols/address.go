package symbols

import (
	"debug/elf"
	"errors"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/elfimage"
)

// ErrNoSymbol is wrapped by the error of Address for a name that no symbol has.
var ErrNoSymbol = errors.New("no symbol of that name")

// Address returns the virtual address of the variable or the function of a raw name, and its size in
// bytes, 0 if the symbol has none. It asks the symbol table, the debug file's and the dynamic symbols, in
// this order. A symbol that other files see goes before those of a source file; where several source files
// have one the error says so. Variables that each thread has for itself have no address.
func (f *File) Address(name string) (addr, size uint64, err error) {
	var errs []error
	for _, from := range []func() (*elfimage.Image, error){f.own, f.debugImage} {
		m, err := from()
		errs = append(errs, err)
		if m == nil {
			continue
		}
		for _, table := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
			if table == elf.SHT_DYNSYM && m != f.image {
				continue // it has no bytes there
			}
			symtab, ok := m.SectionOf(table)
			if !ok {
				continue
			}
			found, err := addressIn(m, symtab, name)
			if found != nil || errors.Is(err, errSeveral) || errors.Is(err, errThreads) {
				return found.address(), found.bytes(), err
			}
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return 0, 0, err
	}
	return 0, 0, fmt.Errorf("%w: %s", ErrNoSymbol, name)
}

var (
	errSeveral = errors.New("several source files have a variable of that name")
	errThreads = errors.New("each thread has a variable of that name for itself")
)

func (s *symbol) address() uint64 {
	if s == nil {
		return 0
	}
	return s.value
}

func (s *symbol) bytes() uint64 {
	if s == nil {
		return 0
	}
	return s.size
}

// addressIn returns the symbol that has the name; nil if the table has no such symbol.
func addressIn(m *elfimage.Image, symtab *elf.SectionHeader, name string) (*symbol, error) {
	if uint64(symtab.Link) >= uint64(len(m.Sections)) {
		return nil, fmt.Errorf("symbol table %s: no string table %d", symtab.Name, symtab.Link)
	}
	strtab, err := m.Bytes(&m.Sections[symtab.Link])
	if err != nil {
		return nil, err
	}
	entsize := symbolSize(m)
	if symtab.Size/entsize > maxEntries {
		return nil, errTooMany
	}
	var found *symbol
	several := false
	for index := uint64(0); index < symtab.Size/entsize; {
		chunk, err := m.Read(symtab.Offset+index*entsize, min(symbolChunk, symtab.Size-index*entsize), symbolChunk)
		if err != nil || uint64(len(chunk)) < entsize {
			return nil, fmt.Errorf("read symbols: %w", err)
		}
		for ; uint64(len(chunk)) >= entsize; chunk = chunk[entsize:] {
			index++
			s := decodeSymbol(m, chunk)
			if elf.SectionIndex(s.index) == elf.SHN_UNDEF || !isNamed(strtab, &s, name) {
				continue
			}
			switch elf.ST_TYPE(s.info) {
			case elf.STT_OBJECT, elf.STT_FUNC, elf.STT_GNU_IFUNC, elf.STT_COMMON:
			case elf.STT_TLS:
				return nil, fmt.Errorf("%w: %s", errThreads, name)
			default:
				continue
			}
			if elf.ST_BIND(s.info) != elf.STB_LOCAL {
				return &s, nil
			}
			several = several || found != nil && found.value != s.value
			found = &s
		}
	}
	if several {
		return nil, fmt.Errorf("%w: %s", errSeveral, name)
	}
	return found, nil
}

// isNamed tells whether a symbol has a name, apart from its version.
func isNamed(strtab []byte, s *symbol, name string) bool {
	is := cbytes(strtab, uint64(s.name), len(name)+1)
	return strings.TrimSuffix(string(is), "@") == name
}
