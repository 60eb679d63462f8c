package callchain

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// Bounds on what a table may hold, whatever the file says: a set index has 16
// bits, and real objects have some thousand rules.
const (
	maxSets  = math.MaxUint16
	maxRules = 1 << 20
	maxRows  = 16 << 20
)

// builder makes a Table from functions that come in the order of their file
// offsets.
type builder struct {
	table Table
	exprs exprArena
	known map[string]uint16 // content of a set to its index
	lists map[string]uint32 // content of a list of rules to its place in table.rules
	key   []byte            // scratch

	program program // of the function under way; kept for its memory

	lo, hi  uint64 // file offsets of the function that rows are added to
	covered uint64 // end of what has rows already
}

func newBuilder(arch Arch, base uint64) *builder {
	return &builder{
		table:   Table{arch: arch, base: base, sets: make([]ruleSet, 1)},
		known:   make(map[string]uint16),
		lists:   make(map[string]uint32),
		covered: base,
	}
}

// maxPadding is the largest gap between two functions that is taken for
// padding. It holds no code that runs, so that it needs no row of its own.
const maxPadding = 15

// begin starts the function that occupies the file offsets from lo up to hi.
// It reports false if earlier functions have covered it already.
func (b *builder) begin(lo, hi uint64) bool {
	lo = max(lo, b.covered)
	if lo >= hi || hi-b.table.base > math.MaxUint32 {
		return false
	}
	if gap := lo - b.covered; gap > maxPadding || gap > 0 && lo%16 != 0 {
		b.append(b.covered, 0)
	}
	b.lo, b.hi, b.covered = lo, hi, hi
	return true
}

// add says that from a file offset on, within the function begun last, the
// given set holds.
func (b *builder) add(from uint64, set uint16) {
	if from < b.hi {
		b.append(max(from, b.lo), set)
	}
}

func (b *builder) append(from uint64, set uint16) {
	t := &b.table
	at := uint32(from - t.base)
	n := len(t.starts)
	switch {
	case n > 0 && t.starts[n-1] >= at:
		t.rows[n-1] = set
	case n > 0 && t.rows[n-1] == set, n == maxRows:
	default:
		t.starts = append(t.starts, at)
		t.rows = append(t.rows, set)
	}
}

// finish ends the last function and gives the table in no more memory than it
// needs.
func (b *builder) finish() *Table {
	b.append(b.covered, 0)
	t := &b.table
	t.starts = slices.Clip(slices.Clone(t.starts))
	t.rows = slices.Clip(slices.Clone(t.rows))
	t.sets = slices.Clip(slices.Clone(t.sets))
	t.rules = slices.Clip(slices.Clone(t.rules))
	t.exprs = slices.Clip(slices.Clone(b.exprs.bytes))
	return t
}

// set gives the index of the set with the rules of a row and the flags that
// the rules alone do not tell; zero, "no rule", for a row that can't be used or
// when the bounds are reached.
func (b *builder) set(r *row, ra uint8, flags setFlags) uint16 {
	set := ruleSet{cfa: r.cfa, ra: r.regs[ra], flags: flags}
	switch {
	case set.ra.kind == ruleUndefined:
		// The outermost frame; a CFA does not matter then.
		set.cfa = rule{}
	case set.cfa.kind != ruleValOffset && set.cfa.kind != ruleValExpr:
		return 0
	case set.ra.kind == ruleSame:
		if ra == describe(b.table.arch).pc {
			return 0
		}
		set.ra = rule{kind: ruleRegister, val: int32(ra)}
	}
	touched := r.touched &^ (1 << ra)
	if set.ra.kind == ruleUndefined {
		touched = 0
	}
	return b.intern(set, r, touched)
}

// intern finds or adds a set. The rules of the registers in touched come from
// r.
func (b *builder) intern(set ruleSet, r *row, touched uint64) uint16 {
	key := appendRule(b.key[:0], set.cfa)
	key = appendRule(key, set.ra)
	key = append(key, byte(set.flags))
	shared := len(key)
	for left := touched; left != 0; left &= left - 1 {
		key = appendRule(key, r.regs[bits.TrailingZeros64(left)])
	}
	b.key = key
	if i, ok := b.known[string(key)]; ok {
		return i
	}
	t := &b.table
	if len(t.sets) > maxSets || len(t.rules)+maxRegs > maxRules {
		return 0
	}
	// Sets that differ in the CFA alone, as those of a prologue's pushes do,
	// share the rules of the other registers.
	first, ok := b.lists[string(key[shared:])]
	if !ok {
		first = uint32(len(t.rules))
		for left := touched; left != 0; left &= left - 1 {
			t.rules = append(t.rules, r.regs[bits.TrailingZeros64(left)])
		}
		b.lists[string(key[shared:])] = first
	}
	set.first, set.count = first, uint8(bits.OnesCount64(touched))
	for _, ru := range t.rules[first : first+uint32(set.count)] {
		if ru.kind == ruleRegister || ru.kind == ruleExpr || ru.kind == ruleValExpr {
			set.flags |= flagOldRegs
		}
		if ru.reg == describe(t.arch).sp {
			set.flags |= flagOwnSP
		}
	}
	i := uint16(len(t.sets))
	t.sets = append(t.sets, set)
	b.known[string(key)] = i
	return i
}

func appendRule(key []byte, r rule) []byte {
	return binary.LittleEndian.AppendUint64(key,
		uint64(r.kind)|uint64(r.reg)<<8|uint64(r.size)<<16|uint64(uint32(r.val))<<32)
}
