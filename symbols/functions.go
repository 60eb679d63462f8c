package symbols

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// FunctionKind says what a function name stands for.
type FunctionKind uint8

// Kinds of functions.
const (
	// Defined is code of this file.
	Defined FunctionKind = iota
	// Indirect is an STT_GNU_IFUNC: the code there runs at load time and returns the function
	// that callers will use.
	Indirect
	// Resolver is another name of the code of an Indirect function: the source name of the code
	// that chooses (memset_ifunc).
	Resolver
	// PLT is a stub of this file that jumps to a function of another file; its
	// name ends with "@plt".
	PLT
	// Imported is a function of another file. It has no place in this one.
	Imported
)

// Function is a name of code in a file. One offset may have several names.
type Function struct {
	// Name is the linker's name without the symbol version; see Demangle.
	Name string
	// Offset is the file offset of the function's start, in bytes; 0 for an Imported one.
	Offset uint64
	// Size in bytes is the symbol's size. If the symbol has none, the function extends to the
	// next symbol or to the end of the section. Size is 0 for an Imported function.
	Size uint64
	Kind FunctionKind

	rank uint8 // of the name among the names at this offset; see preferName
}

// functionList is the cached result of Functions.
type functionList struct {
	once sync.Once
	all  []Function
	err  error
}

// Functions returns every function name that the file has, including aliases. The names come
// from its symbol tables, its separate debug file, MiniDebugInfo, and the stubs of the
// procedure linkage table. Go's function table is used only if there is no full symbol table.
// Labels within functions are left out. The result is sorted by offset and name, the Imported
// functions first, and must not be changed.
//
// The first call reads the tables. The error joins the errors of tables that cannot be read;
// the names of the other tables are returned with it.
func (f *File) Functions() ([]Function, error) {
	l := &f.functions
	l.once.Do(func() {
		b := &builder{code: codeOf(f.image), imports: true}
		l.err = f.collectAll(b)
		l.all = b.functions(f.image)
	})
	return l.all, l.err
}

// collectAll reads every table of names. collect stops at the first table that covers all code,
// but a search by name needs the aliases in the other tables, too.
func (f *File) collectAll(b *builder) error {
	var errs []error
	full := false
	for _, from := range []func() (*elfimage.Image, error){f.own, f.debugImage} {
		image, err := from()
		errs = append(errs, err)
		if image == nil {
			continue
		}
		if symtab, ok := image.SectionOf(elf.SHT_SYMTAB); ok {
			err := b.addSymtab(image, symtab, nil)
			errs = append(errs, err)
			full = full || err == nil && b.seen
		}
	}
	errs = append(errs, b.addDynsym(f.image), b.addMiniDebug(f.image, f.opts.Unpack))
	if !full {
		// A symbol table distinguishes Go's wrappers from the functions they wrap; Go's table
		// does not.
		t, err := f.goTable()
		if errs = append(errs, err); t != nil {
			errs = append(errs, b.addGoTable(t))
		}
	}
	errs = append(errs, b.addPLT(f.image))
	return errors.Join(errs...)
}

// functions turns the collected symbols into the list that Functions returns.
func (b *builder) functions(m *elfimage.Image) []Function {
	slices.SortFunc(b.candidates, func(x, y candidate) int {
		if c := cmp.Compare(x.addr, y.addr); c != 0 {
			return c
		}
		if c := bytes.Compare(b.nameOf(&x), b.nameOf(&y)); c != 0 {
			return c
		}
		if c := cmp.Compare(y.rank&rankFunction, x.rank&rankFunction); c != 0 {
			return c
		}
		return cmp.Compare(y.size, x.size)
	})
	b.candidates = slices.CompactFunc(b.candidates, b.sameName)
	slices.SortFunc(b.imported, func(x, y candidate) int { return bytes.Compare(b.nameOf(&x), b.nameOf(&y)) })
	b.imported = slices.CompactFunc(b.imported, b.sameName)

	all := make([]Function, 0, len(b.imported)+len(b.candidates))
	var names strings.Builder
	names.Grow(b.names)
	put := func(c *candidate, offset, size uint64) {
		start := names.Len()
		names.Write(b.nameOf(c))
		all = append(all, Function{Name: names.String()[start:], Offset: offset, Size: size, Kind: c.kind, rank: c.rank})
	}
	for i := range b.imported {
		put(&b.imported[i], 0, 0)
	}
	covered := uint64(0) // end of the furthest sized function at lower addresses
	for first := 0; first < len(b.candidates); {
		group, next := b.address(first)
		addr, size := group[0].addr, uint64(0)
		for i := range group {
			size = max(size, uint64(group[i].size))
		}
		indirect := slices.ContainsFunc(group, func(c candidate) bool { return c.kind == Indirect })
		rest := b.untilNext(addr, next, covered)
		offset, placed := placeIn(m, addr)
		for i := range group {
			c := &group[i]
			if !placed || size == 0 && addr < covered && c.rank&rankFunction == 0 {
				continue // not in the file, or a label inside a function
			}
			if indirect && c.kind == Defined {
				c.kind = Resolver
			}
			own := uint64(c.size)
			if own == 0 {
				own = cmp.Or(size, rest)
			}
			put(c, offset, own)
		}
		covered = max(covered, addr+size)
		first += len(group)
	}
	slices.SortStableFunc(all[len(b.imported):], func(x, y Function) int { return cmp.Compare(x.Offset, y.Offset) })
	return all
}

// placeIn returns the file offset of the byte at addr. It checks the file's size: program
// headers may promise more bytes than the file has.
func placeIn(m *elfimage.Image, addr uint64) (uint64, bool) {
	offset, ok := m.Offset(addr)
	return offset, ok && offset < uint64(m.Size)
}

func (b *builder) sameName(x, y candidate) bool {
	return x.addr == y.addr && bytes.Equal(b.nameOf(&x), b.nameOf(&y))
}

// address returns the candidates with the same address as the first one, and the next address.
func (b *builder) address(first int) (group []candidate, next uint64) {
	end := first
	for end < len(b.candidates) && b.candidates[end].addr == b.candidates[first].addr {
		end++
	}
	next = ^uint64(0)
	if end < len(b.candidates) {
		next = b.candidates[end].addr
	}
	return b.candidates[first:end], next
}

// untilNext returns the size of a symbol at addr that has no size of its own.
func (b *builder) untilNext(addr, next, covered uint64) uint64 {
	end, _ := endOf(b.code, addr)
	if addr < covered {
		end = min(end, covered)
	}
	return min(end, next) - addr
}
