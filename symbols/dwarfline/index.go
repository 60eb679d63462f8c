package dwarfline

import (
	"container/list"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
)

// Line is a place in a source file.
type Line struct {
	// Function is the linkage name of the function, mangled as the compiler wrote it. If there
	// is none (C, Go), it is the plain name; "" if unknown.
	Function string
	// File is the path of the source file as the compiler recorded it, or "" if unknown. A
	// relative path is joined to the compilation directory if that is known. The path is not
	// cleaned: a/../b stays.
	File string
	// Line is the line in File, counted from 1; 0 if unknown.
	Line int
	// StartLine is the line of the function's declaration, counted from 1, in the file that
	// declares it; 0 if unknown.
	StartLine int
}

// Index finds the source lines of addresses in one file. It may be used by one goroutine at a
// time.
type Index struct {
	src   Source
	s     *sections
	read  bool  // whether the sections have been read
	err   error // from reading the sections
	units []unit
	where locator
	cache cache
	spans []span // reused by readTree

	signatures map[uint64]uint64 // offsets of types by signature; nil until needed

	splits   []split // the most recent ones
	splitErr error   // see SplitErr
	skeleton *root   // set in the Index of a split unit
}

// Open returns the Index of a file with the debug sections of src. byteOrder is the file's.
// Open reads nothing: the first Lookup does.
func Open(src Source, byteOrder binary.ByteOrder) (*Index, error) {
	if src == nil || byteOrder == nil {
		return nil, errors.New("open DWARF index: no source of sections or no byte order")
	}
	return &Index{
		src:   src,
		s:     &sections{order: byteOrder},
		cache: cache{units: make(map[int32]*list.Element), limit: cacheBytes},
	}, nil
}

// load reads the sections and their unit headers, once.
func (x *Index) load() error {
	if x.read {
		return x.err
	}
	x.read = true
	s, err := readSections(x.src, x.s.order)
	if err != nil {
		x.err = err
		return err
	}
	x.s = s
	x.units = readUnits(s)
	x.where = x.newLocator()
	return nil
}

// Lookup returns the source positions of the instruction at the virtual address vaddr (as in
// the file, not relocated). The innermost inlined function is first, and the function that
// contains the code is last. It returns nil if the file does not describe vaddr. For a return
// address, look up the byte before it.
//
// If a part of the file is damaged, only what it describes is missing: there are fewer levels,
// an empty Function, or line 0. An error means that sections could not be read, or that nothing
// was found because a unit is damaged.
func (x *Index) Lookup(vaddr uint64) ([]Line, error) {
	if err := x.load(); err != nil {
		return nil, err
	}
	var best []Line
	var failed error
	x.where.find(vaddr, func(i int32) bool {
		d, err := x.data(i)
		if err == nil {
			err = x.complete(d)
		}
		if err != nil {
			failed = fmt.Errorf("look up %#x: %w", vaddr, err)
		}
		if d == nil {
			return false
		}
		lines := x.lines(i, d, vaddr)
		if best == nil {
			best = lines
		}
		return len(lines) > 0 && lines[len(lines)-1].Function != ""
	})
	if best != nil {
		return best, nil
	}
	return nil, failed
}

// lines returns the source positions of vaddr in unit i, whose data is d, or nil if there are
// none. A split unit uses the line table of its skeleton.
func (x *Index) lines(i int32, d *unitData, vaddr uint64) []Line {
	file, line, ok := d.table.find(vaddr)
	from, functions := x.functions(i, d)
	fn := functions.tree.find(vaddr)
	if fn < 0 {
		if !ok {
			return nil
		}
		return []Line{{File: x.path(d, file), Line: int(line)}}
	}
	out := make([]Line, 0, functions.tree.functions[fn].depth+1)
	for fn >= 0 {
		f := from.function(functions, fn)
		out = append(out, Line{Function: f.name, File: x.path(d, file), Line: int(line), StartLine: f.line})
		file, line, fn = f.callFile, f.callLine, f.parent
	}
	return out
}

// functions returns the data of the unit that has the functions of unit i, and that unit's
// Index. That is unit i itself or, if it is a skeleton, its split unit.
func (x *Index) functions(i int32, d *unitData) (*Index, *unitData) {
	part, split, err := x.whole(i)
	switch {
	case err != nil && x.splitErr == nil:
		x.splitErr = err
	case err == nil && part != x:
		if _ = part.complete(split); split.tree != nil { // use the readable parts of a damaged unit
			return part, split
		}
	}
	return x, d
}

// SplitErr returns the first error of a Lookup that could not read a split unit
// (-gsplit-dwarf), so that the names of inlined functions are missing. It is nil if there was
// none.
func (x *Index) SplitErr() error { return x.splitErr }

// function returns function fn of a unit, after looking up its name.
func (x *Index) function(d *unitData, fn int32) *function {
	f := &d.tree.functions[fn]
	if !f.known {
		f.name, f.line = x.describe(f.entry)
		f.known = true
	}
	return f
}

// unitAt returns the data of the unit that contains the entry at off.
func (x *Index) unitAt(off uint64) (*unitData, bool) {
	i := sort.Search(len(x.units), func(i int) bool { return x.units[i].start > off }) - 1
	if i < 0 || off < x.units[i].entries || off >= x.units[i].end {
		return nil, false
	}
	d, err := x.data(int32(i))
	return d, err == nil
}
