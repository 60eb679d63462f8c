package callchain

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// Bounds for one function, whatever the file says. A set index has 16 bits; real functions have
// a few hundred rows.
const (
	maxSets  = math.MaxUint16
	maxRules = 1 << 20
	maxRows  = 1 << 20
)

// builder makes the rows of one function at a time and reuses its memory.
type builder struct {
	arch   Arch
	rows   rows
	rules  []rule
	firsts []uint32 // for each set, the index of its first rule in rules
	exprs  exprArena
	known  map[string]uint16 // content of a set to its index in rows.sets
	list   map[string]uint32 // content of a list of rules to its index in rules
	key    []byte            // scratch

	program program // kept for its memory

	lo, hi uint64 // file offsets of the function
}

// reset starts the function that occupies the file offsets [lo, hi).
func (b *builder) reset(arch Arch, lo, hi uint64) {
	if b.known == nil {
		b.known, b.list = make(map[string]uint16), make(map[string]uint32)
	}
	clear(b.known)
	clear(b.list)
	b.arch, b.lo, b.hi = arch, lo, min(hi, lo+math.MaxUint32)
	b.rows = rows{base: lo, starts: b.rows.starts[:0], rows: b.rows.rows[:0], sets: append(b.rows.sets[:0], ruleSet{})}
	b.rules, b.firsts = b.rules[:0], append(b.firsts[:0], 0)
	b.exprs.reset()
}

// add makes the set hold from a file offset on. It ignores offsets beyond the function.
func (b *builder) add(from uint64, set uint16) {
	if from < b.hi {
		b.append(max(from, b.lo), set)
	}
}

func (b *builder) append(from uint64, set uint16) {
	t := &b.rows
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

// finish returns a copy of the rows that takes no more memory than needed.
func (b *builder) finish() *rows {
	r := &rows{base: b.rows.base, starts: slices.Clone(b.rows.starts), rows: slices.Clone(b.rows.rows), sets: slices.Clone(b.rows.sets)}
	rules, exprs := slices.Clone(b.rules), slices.Clone(b.exprs.bytes)
	for i := range r.sets {
		s := &r.sets[i]
		s.rules = rules[b.firsts[i]:][:len(s.rules)]
		s.exprs = exprs
	}
	return r
}

// set returns the index of the set with the rules of r and with flags, which the rules alone do
// not imply. It returns zero, "no rule", if r can't be used or a bound is reached.
func (b *builder) set(r *row, ra uint8, flags setFlags) uint16 {
	set := ruleSet{cfa: r.cfa, ra: r.regs[ra], flags: flags}
	switch {
	case set.ra.kind == ruleUndefined:
		// The outermost frame; a CFA does not matter then.
		set.cfa = rule{}
	case set.cfa.kind != ruleValOffset && set.cfa.kind != ruleValExpr:
		return 0
	case set.ra.kind == ruleSame:
		if ra == describe(b.arch).pc {
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

// intern finds or adds a set and returns its index. The rules of the registers in touched come
// from r.
func (b *builder) intern(set ruleSet, r *row, touched uint64) uint16 {
	key := appendRule(b.key[:0], set.cfa)
	key = appendRule(key, set.ra)
	key = binary.LittleEndian.AppendUint16(key, uint16(set.flags))
	shared := len(key)
	for left := touched; left != 0; left &= left - 1 {
		key = appendRule(key, r.regs[bits.TrailingZeros64(left)])
	}
	b.key = key
	if i, ok := b.known[string(key)]; ok {
		return i
	}
	if len(b.rows.sets) > maxSets || len(b.rules)+maxRegs > maxRules {
		return 0
	}
	// Sets that differ only in the CFA, as after each push of a prologue, share the rules of
	// the other registers.
	first, ok := b.list[string(key[shared:])]
	if !ok {
		first = uint32(len(b.rules))
		for left := touched; left != 0; left &= left - 1 {
			b.rules = append(b.rules, r.regs[bits.TrailingZeros64(left)])
		}
		b.list[string(key[shared:])] = first
	}
	set.rules = b.rules[first:][:bits.OnesCount64(touched)]
	for _, ru := range set.rules {
		if ru.kind == ruleRegister || ru.kind == ruleExpr || ru.kind == ruleValExpr {
			set.flags |= flagOldRegs
		}
		if ru.reg == describe(b.arch).sp {
			set.flags |= flagOwnSP
		}
	}
	i := uint16(len(b.rows.sets))
	b.rows.sets = append(b.rows.sets, set)
	b.firsts = append(b.firsts, first)
	b.known[string(key)] = i
	return i
}

func appendRule(key []byte, r rule) []byte {
	return binary.LittleEndian.AppendUint64(key,
		uint64(r.kind)|uint64(r.reg)<<8|uint64(r.size)<<16|uint64(uint32(r.val))<<32)
}
