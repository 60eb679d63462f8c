package dwarfline

import (
	"cmp"
	"slices"
	"sort"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

type placed struct {
	span
	top  uint64 // the highest high of this and all ranges before
	unit int32
}

// maxOverlaps is the maximum number of ranges checked for an address. Ranges of units overlap
// only if the linker has folded identical functions.
const maxOverlaps = 64

// locator finds the units that may contain an address.
type locator []placed

// newLocator reads only the root entry of every unit. It uses .debug_aranges only for units
// whose root has no addresses, since DWARF 2 could not list ranges there. clang, rustc and Go
// do not write that section; gcc's adds nothing to the root entries.
func (x *Index) newLocator() locator {
	var l locator
	var spans []span
	untold := make(map[uint64]int32) // header offset to index in x.units
	// Units may share abbreviations and range lists. Without these limits, a file in which all
	// units share a huge one would take quadratic time.
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

// fromAranges appends the ranges in .debug_aranges (DWARF 5 section 6.1.2) of the units in
// untold.
func (x *Index) fromAranges(l locator, untold map[uint64]int32) locator {
	for c := bytecursor.New(x.s.aranges, 0, x.s.order); c.Left() > 0; {
		start := c.Offset()
		length, size := unitLength(&c)
		if c.Err() != nil || length > c.Left() {
			break
		}
		set := c
		set.Limit(length)
		c.Skip(length)
		set.U16() // version
		unit, wanted := untold[set.Uint(size)]
		addrSize := uint64(set.U8())
		if segment := set.U8(); !wanted || segment != 0 || addrSize == 0 || addrSize > 8 {
			continue
		}
		// Tuples are aligned to their size, relative to the set's header.
		if over := (set.Offset() - start) % (2 * addrSize); over != 0 {
			set.Skip(2*addrSize - over)
		}
		for {
			s := span{low: set.Uint(int(addrSize))}
			length := set.Uint(int(addrSize))
			if set.Err() != nil || s.low == 0 && length == 0 {
				break
			}
			if s.high = s.low + length; s.real() {
				l = append(l, placed{span: s, unit: unit})
			}
		}
	}
	return l
}

// find calls try with each unit that has a range around addr until try returns true. The range
// that starts closest to addr is tried first.
func (l locator) find(addr uint64, try func(unit int32) bool) {
	i := sort.Search(len(l), func(i int) bool { return l[i].low > addr }) - 1
	for n := 0; i >= 0 && n < maxOverlaps && l[i].top > addr; i, n = i-1, n+1 {
		if addr < l[i].high && try(l[i].unit) {
			return
		}
	}
}
