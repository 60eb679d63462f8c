package symbols

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/ringtap/ringtap/internal/elfimage"
)

// FunctionKind says what a name of code stands for.
type FunctionKind uint8

// Kinds of functions.
const (
	// Defined is code of this file.
	Defined FunctionKind = iota
	// Indirect is an STT_GNU_IFUNC: the code at its place chooses, at load
	// time, the function that its callers will call.
	Indirect
	// Resolver is another name of the code at the place of an Indirect function: what its
	// author called the code that chooses (memset_ifunc).
	Resolver
	// PLT is a stub of this file that jumps to a function of another file; its
	// name ends with "@plt".
	PLT
	// Imported is a function of another file. It has no place in this one.
	Imported
)

// Function is a name of code in a file. One place may have several.
type Function struct {
	// Name is as the linker knows it, without the symbol version; see Demangle.
	Name string
	// Offset is where the function begins in the file, in bytes; 0 for an
	// Imported one.
	Offset uint64
	// Size in bytes: what the symbol says, or where it says nothing up to the
	// next symbol or the end of the section; 0 for an Imported one.
	Size uint64
	Kind FunctionKind

	rank uint8 // of the name among those of its place: see preferName
}

// functionList is what Functions has found.
type functionList struct {
	once sync.Once
	all  []Function
	err  error
}

// Functions returns every name of code that the file has, aliases too: of its
// own symbol tables, its separate debug file and MiniDebugInfo, stubs of the
// procedure linkage table, and where all that leaves code without names those of
// Go's function table. It is sorted by offset and name, the Imported functions
// first, and must not be changed. Labels within functions are left out.
//
// The first call reads the tables. The error tells of those that can't be read;
// the names of the others are returned with it.
func (f *File) Functions() ([]Function, error) {
	l := &f.functions
	l.once.Do(func() {
		b := &builder{code: codeOf(f.image), imports: true}
		l.err = f.collectAll(b)
		l.all = b.functions(f.image)
	})
	return l.all, l.err
}

// collectAll reads every table of names. Where collect is content with the first
// table that has all code, what looks for a name wants its aliases in the others.
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
		// A symbol table tells Go's wrappers from what they wrap, this does not.
		t, err := f.goTable()
		if errs = append(errs, err); t != nil {
			errs = append(errs, b.addGoTable(t))
		}
	}
	errs = append(errs, b.addPLT(f.image))
	return errors.Join(errs...)
}

// functions turns what was collected into the list that Functions returns.
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
				continue // no place in the file, or a label inside of a function
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

// placeIn returns where in the file the byte at an address is. Program headers may
// promise more than the file has.
func placeIn(m *elfimage.Image, addr uint64) (uint64, bool) {
	offset, ok := m.Offset(addr)
	return offset, ok && offset < uint64(m.Size)
}

func (b *builder) sameName(x, y candidate) bool {
	return x.addr == y.addr && bytes.Equal(b.nameOf(&x), b.nameOf(&y))
}

// address returns the candidates that have the address of the first one, and
// the next address.
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

// untilNext is the size of a symbol at addr that has none of its own.
func (b *builder) untilNext(addr, next, covered uint64) uint64 {
	end, _ := endOf(b.code, addr)
	if addr < covered {
		end = min(end, covered)
	}
	return min(end, next) - addr
}
