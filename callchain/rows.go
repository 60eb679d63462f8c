package callchain

import "sort"

// rows holds the rules of one stretch of code, usually a function. It is immutable.
//
// It is keyed by file offset, and so works for every mapping of the file in every process. Row
// i holds from base+starts[i] to the next row's start and refers to sets[rows[i]]. sets[0]
// means "no rule here".
type rows struct {
	base   uint64
	starts []uint32
	rows   []uint16
	sets   []ruleSet
}

// find returns the rules for the code byte at a file offset, or nil if there are none.
func (r *rows) find(offset uint64) *ruleSet {
	if offset < r.base || offset-r.base > 1<<32-1 {
		return nil
	}
	at := uint32(offset - r.base)
	i := sort.Search(len(r.starts), func(i int) bool { return r.starts[i] > at })
	if i == 0 {
		return nil
	}
	set := r.rows[i-1]
	if set == 0 {
		return nil
	}
	return &r.sets[set]
}

// bytes returns the approximate memory that the rows take.
func (r *rows) bytes() int {
	n := 128 + cap(r.starts)*4 + cap(r.rows)*2 + cap(r.sets)*80
	for i := range r.sets {
		n += len(r.sets[i].rules) * 8 // some sets share theirs
	}
	return n
}
