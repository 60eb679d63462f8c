package callchain

// stepFramePointer follows the frame pointer, for code without a rule. It points at the same
// record on all machines: the caller's frame pointer, then the return address (psABI of amd64,
// 3.2.2, and of i386, 2.2.2; AAPCS64, 6.4.6).
//
// At a function's first instruction the record still belongs to the caller, and the walk would
// skip that caller. Only the caller of Unwind can know that the thread is there
// (Capture.Entry). Elsewhere in a prologue or epilogue, two instructions each, one frame is
// missed.
func (u *Unwinder) stepFramePointer(s *step) (End, bool) {
	m := u.machine
	sp, word := u.regs.v[m.sp], uint64(m.word)
	entry := s.leaf && s.entry
	*s = step{}
	if entry && m.ra != m.pc {
		u.repeatable = false
		return u.enter(u.regs.v[m.ra])
	}
	if entry {
		ra, ok := u.mem.word(sp)
		if !ok {
			return u.missing(sp), true
		}
		u.regs.set(m.sp, sp+word)
		return u.enter(ra)
	}
	fp := u.regs.v[m.fp]
	switch {
	case !u.regs.has(m.fp):
		return Lost, true
	case fp == 0:
		return Complete, true
	case fp < sp || fp%word != 0:
		return Lost, true
	}
	next, ok := u.mem.word(fp)
	ra, ok2 := u.mem.word(fp + word)
	if !ok || !ok2 {
		return u.missing(fp + word), true
	}
	u.regs.set(m.fp, next)
	u.regs.set(m.sp, fp+2*word)
	return u.enter(ra)
}
