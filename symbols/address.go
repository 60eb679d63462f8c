package symbols

import (
	"debug/elf"
	"errors"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// ErrNoSymbol is wrapped by the error of Address for a name that no symbol has.
var ErrNoSymbol = errors.New("no symbol of that name")

// Address returns the virtual address and the size in bytes of the variable or function with a
// raw name. The size is 0 if the symbol has none. It searches the file's symbol table, its
// dynamic symbols and then the debug file's symbol table. A global or weak symbol is preferred
// to a local one; if several source files define a local one, the error says so. Thread-local
// variables have no address: the error says that, too.
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
				continue // a debug file has no contents for .dynsym
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

// addressIn returns the symbol with the given name, or nil if the table has none.
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

func isNamed(strtab []byte, s *symbol, name string) bool {
	is := cbytes(strtab, uint64(s.name), len(name)+1)
	return strings.TrimSuffix(string(is), "@") == name
}
