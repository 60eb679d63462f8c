package callchain

// stepFramePointer follows the frame pointer, for code without a rule. All
// machines keep the same record where it points: the caller's frame pointer,
// then the return address (psABI of amd64, 3.2.2, and of i386, 2.2.2; AAPCS64, 6.4.6).
//
// At a function's first instruction the record is the caller's, which the walk
// would then skip. Only the caller of Unwind can know that the thread is there
// (Capture.Entry); elsewhere in a prologue or epilogue, two instructions each,
// a frame is missed.
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
