package callchain

import (
	"errors"

	"github.com/ringtap/ringtap/internal/elfimage"
	"github.com/ringtap/ringtap/internal/gotable"
)

// findGoTable finds the function table of a Go binary; nil for any other. Tables
// before Go 1.18 are not used: they don't say which functions end a stack or
// leave it.
func findGoTable(m *elfimage.Image) (*gotable.Table, error) {
	t, err := gotable.Open(m)
	if err != nil && !errors.Is(err, gotable.ErrNone) {
		return nil, err
	}
	if t == nil || t.Version != gotable.Go118 && t.Version != gotable.Go120 {
		return nil, nil
	}
	return t, nil
}

// golang walks a function's pcsp table, which says how far the stack pointer is
// below its value at entry, and adds a row for each step.
func (b *builder) golang(t *gotable.Table, f *function) {
	fn := t.Func(uint64(f.index))
	switch flags, ok := fn.Flags(); {
	case flags&gotable.TopFrame != 0:
		b.add(f.start, b.set(&row{regs: outermost(b.arch)}, describe(b.arch).ra, 0))
		return
	case flags&gotable.SPWrite != 0 || !ok:
		b.add(f.start, 0)
		return
	}
	v := t.Values(fn.SP(), f.start)
	for v.End < f.end && v.Next() {
		if v.Value < 0 || v.End == v.Start || v.End > f.end {
			b.add(v.Start, 0)
			return
		}
		b.add(v.Start, b.goSet(b.arch, v.Value))
	}
	if v.Malformed {
		b.add(v.End, 0)
	}
}

// outermost gives the rules of a function that has no caller.
func outermost(a Arch) (regs [maxRegs]rule) {
	regs[describe(a).ra] = rule{kind: ruleUndefined}
	return regs
}

// goSet gives the rules that hold where the stack pointer is delta below its
// value at entry.
func (b *builder) goSet(a Arch, delta int32) uint16 {
	m := describe(a)
	r := row{cfa: rule{kind: ruleValOffset, reg: m.sp, val: delta}}
	var flags setFlags
	switch {
	case a == I386:
		// call pushed the return address; functions keep no frame pointer.
		r.cfa.val += 4
		r.set(uint64(m.ra), rule{kind: ruleOffset, val: -4})
	case a == AMD64:
		// call pushed the return address. The first thing that is pushed below
		// it, in a function that has a frame, is the caller's rbp.
		r.cfa.val += 8
		r.set(uint64(m.ra), rule{kind: ruleOffset, val: -8})
		if delta >= 8 {
			r.set(uint64(m.fp), rule{kind: ruleOffset, val: -16})
			flags = flagRecord
		}
	case delta > 0:
		// The link register is saved at the lowest word of the frame, x29 in
		// the word below it.
		r.set(uint64(m.ra), rule{kind: ruleOffset, val: -delta})
		r.set(uint64(m.fp), rule{kind: ruleOffset, val: -delta - 8})
		flags = flagRecord
	}
	return b.set(&r, m.ra, flags)
}
