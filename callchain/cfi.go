package callchain

import "github.com/ringtap/ringtap/internal/object/callframe"

// understood reports whether all rules of a function's CIE can be parsed.
func understood(f *callframe.Function) bool {
	p := program{code: f.CIE.Instructions(f.CIE.Program, f.Start), exprs: &exprArena{}}
	return f.CIE.Return < maxRegs && p.run(nil)
}

// frame runs the FDE's program of f and adds its rows. It reports whether the function keeps a
// frame record for a frame-pointer walk to follow.
func (b *builder) frame(f *function) bool {
	c := f.frame.CIE
	p := &b.program
	*p = program{code: c.Instructions(c.Program, f.frame.Start), exprs: &b.exprs, loc: f.frame.Start,
		row: row{cfa: rule{kind: ruleUndefined}}, remembered: p.remembered[:0]}
	if c.Return >= maxRegs || !p.run(nil) {
		return false
	}
	p.code, p.loc, p.initial, p.remembered = c.Instructions(f.frame.Program, f.frame.Start), f.frame.Start, p.row, p.remembered[:0]
	framed := false
	m := describe(b.arch)
	emit := func(loc uint64, r *row) {
		var flags setFlags
		if c.Signal {
			flags |= flagSignal
		}
		if m.hasFrameRecord(r) {
			flags |= flagRecord
			framed = true
		}
		b.add(f.start+(loc-f.frame.Start), b.set(r, c.Return, flags))
	}
	if p.run(emit) {
		emit(p.loc, &p.row)
	} else {
		b.add(f.start+(p.loc-f.frame.Start), 0)
	}
	return framed
}

// hasFrameRecord reports whether, according to r, the function has pushed a frame record and
// points the frame pointer at it.
func (m *machine) hasFrameRecord(r *row) bool {
	fp, ra := r.regs[m.fp], r.regs[m.ra]
	if fp.kind != ruleOffset || ra.kind != ruleOffset || ra.val != fp.val+int32(m.word) {
		return false
	}
	// arm64 compilers keep x29 at the record in every function that has one,
	// but base the CFA on sp.
	return m.ra != m.pc || r.cfa.kind == ruleValOffset && r.cfa.reg == m.fp
}
