package dwarfline

import (
	"cmp"
	"slices"
	"sort"
)

// segment says which function has the addresses from start to the next segment's start: the
// innermost inlined one. fn is -1 if there is none.
type segment struct {
	start uint64
	fn    int32
}

// flatten turns nested ranges into segments, so that one binary search finds the innermost
// function. If ranges overlap without nesting, the inner one is cut at the end of the outer
// one.
func flatten(pieces []piece) []segment {
	// A function's index is higher than that of the function it is inlined into.
	slices.SortFunc(pieces, func(a, b piece) int {
		if a.low != b.low {
			return cmp.Compare(a.low, b.low)
		}
		return cmp.Compare(a.fn, b.fn)
	})
	segments := make([]segment, 0, len(pieces)+len(pieces)/2)
	put := func(start uint64, fn int32) {
		n := len(segments)
		if n > 0 && segments[n-1].start == start {
			segments[n-1].fn = fn
		} else if n == 0 || segments[n-1].fn != fn {
			segments = append(segments, segment{start, fn})
		}
	}
	var open []piece // ranges around the current address, outermost first
	closeUntil := func(addr uint64) {
		for n := len(open); n > 0 && open[n-1].high <= addr; n = len(open) {
			fn := int32(-1)
			if n > 1 {
				fn = open[n-2].fn
			}
			put(open[n-1].high, fn)
			open = open[:n-1]
		}
	}
	for _, p := range pieces {
		closeUntil(p.low)
		if n := len(open); n > 0 {
			p.high = min(p.high, open[n-1].high)
		}
		open = append(open, p)
		put(p.low, p.fn)
	}
	closeUntil(^uint64(0))
	return slices.Clip(segments)
}

// find returns the innermost function that contains addr, or -1.
func (t *tree) find(addr uint64) int32 {
	i := sort.Search(len(t.segments), func(i int) bool { return t.segments[i].start > addr })
	if i == 0 {
		return -1
	}
	return t.segments[i-1].fn
}
