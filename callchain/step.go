package callchain

// step is what the walk knows about a frame from the way it got there.
type step struct {
	leaf  bool // no call was made from this frame
	exact bool // pc is the interrupted instruction, not a return address
	entry bool // at the first instruction of a function
}

// rises reports whether the stack pointer moves towards the outermost frame. An arm64 leaf may
// leave it unchanged.
func (s *step) rises(sp, caller uint64) bool {
	return caller > sp || caller == sp && s.exact
}

// farAway is more than a stack extends beyond its copy, in bytes. A frame farther away comes
// from a register that does not point into the stack.
const farAway = 64 << 20

// missing returns why memory at addr can't be read: Cut if it is beyond the end of the copy,
// Lost if it is not on this stack.
func (u *Unwinder) missing(addr uint64) End {
	if off := addr - u.mem.base; off < uint64(len(u.mem.data)+u.mem.beyond.size())+farAway {
		return Cut
	}
	return Lost
}

// step replaces a frame's registers with its caller's. It reports true if the walk ends here.
func (u *Unwinder) step(p *place, s *step) (End, bool) {
	if p.set == nil {
		return u.stepWithoutRule(p, s)
	}
	set, m := p.set, u.machine
	if set.ra.kind == ruleUndefined {
		return Complete, true
	}
	if set.flags&flagFinal != 0 && u.hasLeft(s) {
		return Complete, true
	}
	switches := set.flags&(flagSwitch|flagUnknown) != 0
	if switches {
		u.switching = true // cleared again if the walk can follow
		if set.flags&flagUnknown != 0 {
			return Lost, true
		}
		u.cross(set)
	}
	rules := set.rules
	if set.flags&flagOldRegs != 0 || set.cfa.kind == ruleValExpr || set.ra.kind > ruleOffset {
		u.old = u.regs
		u.repeatable = false
	}
	u.eval.outside = 0
	cfa, ok := u.cfa(set)
	if !ok {
		return u.missing(u.eval.outside), true
	}
	sp := u.regs.v[m.sp]
	if set.flags&(flagSignal|flagOwnSP|flagSwitch) == 0 && !s.rises(sp, cfa) {
		return Lost, true
	}
	ra, end, ok := u.returnAddress(set, cfa)
	if !ok && switches {
		return Lost, true // a longer copy would not help
	}
	if !ok {
		return end, true
	}
	u.regs.set(m.sp, cfa)
	for i := range rules {
		if ru := &rules[i]; ru.kind == ruleOffset {
			u.load(ru.reg, cfa+uint64(int64(ru.val)))
		} else {
			u.restore(ru, cfa, set)
		}
	}
	if set.flags&(flagSignal|flagOwnSP) == flagOwnSP && !s.rises(sp, u.regs.v[m.sp]) {
		return Lost, true
	}
	*s = step{exact: set.flags&flagSignal != 0}
	return u.enter(ra)
}

// enter makes ra the caller's pc. It reports true if the walk ends here.
func (u *Unwinder) enter(ra uint64) (End, bool) {
	if u.arch == ARM64 {
		ra = stripPAC(ra)
	}
	switch ra {
	case 0:
		return Complete, true
	case u.trampoline:
		// Calls from different places leave the same words on the stack.
		u.repeatable = false
		var ok bool
		if ra, ok = u.replaced(); !ok {
			u.hidden = true
			return Lost, true
		}
	}
	u.regs.v[u.machine.pc] = ra
	return 0, false
}

// cfa returns the canonical frame address.
func (u *Unwinder) cfa(set *ruleSet) (uint64, bool) {
	r := set.cfa
	if r.kind == ruleValExpr {
		return u.eval.run(set.expr(r))
	}
	if r.reg != u.machine.sp && r.reg != u.machine.fp {
		u.repeatable = false
	}
	return u.machine.cut(u.regs.v[r.reg] + uint64(int64(r.val))), u.regs.has(r.reg)
}

// returnAddress returns the address that the frame returns to.
func (u *Unwinder) returnAddress(set *ruleSet, cfa uint64) (uint64, End, bool) {
	r := set.ra
	addr := cfa + uint64(int64(r.val))
	switch r.kind {
	case ruleOffset:
		v, ok := u.mem.word(addr)
		if !ok {
			return 0, u.missing(addr), false
		}
		return v, 0, true
	case ruleValOffset:
		return addr, 0, true
	case ruleRegister:
		return u.old.v[r.val], Lost, u.old.has(uint8(r.val))
	case ruleExpr:
		addr, ok := u.eval.run(set.expr(r), cfa)
		if !ok {
			return 0, u.missing(u.eval.outside), false
		}
		v, ok := u.mem.word(addr)
		return v, u.missing(addr), ok
	case ruleValExpr:
		v, ok := u.eval.run(set.expr(r), cfa)
		return v, u.missing(u.eval.outside), ok
	}
	return 0, Lost, false
}

// load sets a register from the stack. If addr is below the copy, the value was popped already
// and the register holds it again: compilers do not remove the rule. If addr is beyond the
// copy, the register is unknown.
func (u *Unwinder) load(reg uint8, addr uint64) {
	if v, ok := u.mem.word(addr); ok {
		u.regs.set(reg, v)
	} else if addr >= u.mem.base {
		u.regs.known &^= 1 << reg
	}
}

// restore applies the less common rules.
func (u *Unwinder) restore(r *rule, cfa uint64, set *ruleSet) {
	switch r.kind {
	case ruleUndefined:
		u.regs.known &^= 1 << r.reg
	case ruleValOffset:
		u.regs.set(r.reg, cfa+uint64(int64(r.val)))
	case ruleRegister:
		u.regs.known &^= 1 << r.reg
		if u.old.has(uint8(r.val)) {
			u.regs.set(r.reg, u.old.v[r.val])
		}
	case ruleExpr:
		u.regs.known &^= 1 << r.reg
		if addr, ok := u.eval.run(set.expr(*r), cfa); ok {
			u.load(r.reg, addr)
		}
	case ruleValExpr:
		u.regs.known &^= 1 << r.reg
		if v, ok := u.eval.run(set.expr(*r), cfa); ok {
			u.regs.set(r.reg, v)
		}
	}
}
