package dwarfline

import (
	"cmp"
	"slices"
	"sort"
)

// placed is one range of addresses of a unit.
type placed struct {
	span
	top  uint64 // the highest high of this and all ranges before
	unit int32
}

// maxOverlaps is how many ranges around an address are looked at. Ranges of
// units do not overlap, except where linkers fold equal functions.
const maxOverlaps = 64

// locator finds the units whose code an address may be.
type locator []placed

// newLocator reads the root entry of every unit and nothing else of it.
// .debug_aranges is asked only for units whose root does not tell (DWARF 2
// could not list ranges): clang, rustc and Go do not write that section, gcc's
// says nothing that the root does not say.
func (x *Index) newLocator() locator {
	var l locator
	var spans []span
	untold := make(map[uint64]int32) // header offset to index in x.units
	// Units may share abbreviations and range lists. These bounds keep a file
	// in which all share a huge one from taking quadratic time.
	work := 16 * (len(x.s.info) + len(x.s.abbrev))
	most := len(x.units) + len(x.s.ranges) + len(x.s.rngLists)
	for i := range x.units {
		u := &x.units[i]
		r, read, err := x.readRoot(u)
		if work -= read; work < 0 || len(l) >= most {
			break
		}
		if err != nil {
			continue
		}
		spans = append(spans[:0], span{r.low, r.high})
		if r.ranges.form == 0 && r.high == 0 {
			untold[u.start] = int32(i)
		}
		for _, s := range x.rangeList(spans, u, &r, r.ranges, most-len(l)) {
			if s.real() {
				l = append(l, placed{span: s, unit: int32(i)})
			}
		}
	}
	if len(untold) > 0 {
		l = x.fromAranges(l, untold)
	}
	slices.SortFunc(l, func(a, b placed) int { return cmp.Compare(a.low, b.low) })
	var top uint64
	for i := range l {
		top = max(top, l[i].high)
		l[i].top = top
	}
	return l
}

// fromAranges appends the ranges that .debug_aranges (DWARF 5 section 6.1.2)
// has for the units in untold.
func (x *Index) fromAranges(l locator, untold map[uint64]int32) locator {
	for c := at(x.s.aranges, 0, x.s.order); c.left() > 0; {
		start := c.off
		length, size := c.unitLength()
		if c.err != nil || length > c.left() {
			break
		}
		set := at(c.data[:c.off+length], c.off, x.s.order)
		c.skip(length)
		set.u16() // version
		unit, wanted := untold[set.uint(size)]
		addrSize := uint64(set.u8())
		if segment := set.u8(); !wanted || segment != 0 || addrSize == 0 || addrSize > 8 {
			continue
		}
		// Tuples are aligned to their size, counted from the set's header.
		if over := (set.off - start) % (2 * addrSize); over != 0 {
			set.skip(2*addrSize - over)
		}
		for {
			s := span{low: set.uint(int(addrSize))}
			length := set.uint(int(addrSize))
			if set.err != nil || s.low == 0 && length == 0 {
				break
			}
			if s.high = s.low + length; s.real() {
				l = append(l, placed{span: s, unit: unit})
			}
		}
	}
	return l
}

// find calls try with each unit that claims addr, the one whose range begins
// nearest first, until try returns true.
func (l locator) find(addr uint64, try func(unit int32) bool) {
	i := sort.Search(len(l), func(i int) bool { return l[i].low > addr }) - 1
	for n := 0; i >= 0 && n < maxOverlaps && l[i].top > addr; i, n = i-1, n+1 {
		if addr < l[i].high && try(l[i].unit) {
			return
		}
	}
}
