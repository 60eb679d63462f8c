package callchain

import (
	"sort"
)

// Table says for every instruction of one object how to get from its frame to
// the caller's. It is immutable and may be used by any number of goroutines.
//
// It is keyed by file offset, so that it serves every mapping of the file in
// every process. Row i holds from base+starts[i] to the next row's start and
// points at sets[rows[i]]; sets[0] stands for "no rule here". Most functions
// look alike, so that there are few sets: a row costs six bytes.
type Table struct {
	arch   Arch
	base   uint64
	starts []uint32
	rows   []uint16
	sets   []ruleSet
	rules  []rule
	exprs  []byte

	framePointers bool
}

// FramePointers says whether most of the object's functions keep a chain of
// frame records in the frame pointer, so that the kernel's own walk of that
// chain is right in all but the leaf frame.
func (t *Table) FramePointers() bool { return t.framePointers }

// Bytes is the memory that the table takes.
func (t *Table) Bytes() int {
	return cap(t.starts)*4 + cap(t.rows)*2 + cap(t.sets)*24 + cap(t.rules)*8 + cap(t.exprs)
}

// Rows is the number of rows, for accounting and benchmarks.
func (t *Table) Rows() int { return len(t.starts) }

// find gives the rules for the code byte at a file offset; nil if the table
// has none there.
func (t *Table) find(offset uint64) *ruleSet {
	if offset < t.base || offset-t.base > 1<<32-1 {
		return nil
	}
	at := uint32(offset - t.base)
	i := sort.Search(len(t.starts), func(i int) bool { return t.starts[i] > at })
	if i == 0 {
		return nil
	}
	set := t.rows[i-1]
	if set == 0 {
		return nil
	}
	return &t.sets[set]
}

// expr gives the bytes of the expression of a rule.
func (t *Table) expr(r rule) []byte {
	return t.exprs[r.val : int(r.val)+int(r.size)]
}
