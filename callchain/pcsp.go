package callchain

import "encoding/binary"

// compile decodes the function's pcsp table, which says how far the stack
// pointer is below its value at entry (cmd/link/internal/ld/pcln.go and
// runtime.step), and adds a row for each step.
func (t *goTable) compile(b *builder, f *function) {
	at := uint64(binary.LittleEndian.Uint32(t.funcs[f.index*8+4:]))
	if at+funcSize > uint64(len(t.funcs)) {
		b.add(f.start, 0)
		return
	}
	record := t.funcs[at:]
	switch flags := record[funcFlag]; {
	case flags&goTopFrame != 0:
		b.add(f.start, b.set(&row{regs: outermost(t.arch)}, describe(t.arch).ra, 0))
		return
	case flags&goSPWrite != 0:
		b.add(f.start, 0)
		return
	}
	pcsp := binary.LittleEndian.Uint32(record[funcPCSP:])
	if pcsp == 0 || uint64(pcsp) >= uint64(len(t.pctab)) {
		b.add(f.start, 0)
		return
	}
	r := reader{data: t.pctab, off: int(pcsp)}
	delta := int32(-1)
	for pc := f.start; pc < f.end; {
		change := uint32(r.uleb())
		if change == 0 && pc != f.start {
			break
		}
		delta += int32(change>>1) ^ -int32(change&1)
		step := r.uleb() * t.quantum
		if r.bad || delta < 0 || step == 0 || step > f.end-pc {
			b.add(pc, 0)
			return
		}
		b.add(pc, b.goSet(t.arch, delta))
		pc += step
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
