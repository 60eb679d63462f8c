package callchain

// Runtime knows the frames of functions that a program compiles or interprets at run time. No
// unwind table describes such functions.
type Runtime interface {
	// Step is called for each frame before any unwind rule is tried. It may name the frame and
	// its caller: see Activation. Its answer must follow from the activation's words and
	// registers, and from code and data that do not change: a chain that was seen before may be
	// reused without another call.
	Step(a *Activation)
}

// Activation is one frame of a copied stack.
type Activation struct {
	PC, SP uint64
	FP     uint64 // 0 if unknown
	// Place is where PC lies in memory; for a caller it is one byte before PC. Generated is
	// true if no file with an unwind table is mapped there.
	Place     Frame
	Generated bool
	// Exact is true if PC is the interrupted instruction, not a return address.
	Exact bool
	// Step may fill Frames, leaf first. They then replace this frame in the chain. If Frames is
	// empty, the chain gets Place.
	Frames []Frame

	unwinder *Unwinder
	left     bool
	caller   struct{ pc, sp, fp uint64 }
}

// Word reads eight bytes of the copied stack.
func (a *Activation) Word(addr uint64) (uint64, bool) { return a.unwinder.mem.word(addr) }

// Register returns the value of the register with a DWARF column, and false if it is unknown.
func (a *Activation) Register(column uint8) (uint64, bool) {
	a.unwinder.repeatable = false
	return a.unwinder.regs.v[column%maxRegs], a.unwinder.regs.has(column)
}

// Executable reports whether an address is in executable memory.
func (a *Activation) Executable(pc uint64) bool {
	u := a.unwinder
	return u.lookup(u.derivation.space, versionOf(u.derivation.space), pc) != nil
}

// Leave sets where the frame's caller continues, and its stack and frame pointers there. If
// Step does not call Leave, the frame is left by the unwind rules.
func (a *Activation) Leave(pc, sp, fp uint64) {
	a.left = true
	a.caller.pc, a.caller.sp, a.caller.fp = pc, sp, fp
}

// ask asks the runtime about the frame described by u.regs, and appends its frames to dst.
func (u *Unwinder) ask(dst []Frame, frame Frame, generated, exact bool) []Frame {
	a, m := &u.activation, u.machine
	fp := uint64(0)
	if u.regs.has(m.fp) {
		fp = u.regs.v[m.fp]
	}
	*a = Activation{PC: u.regs.v[m.pc], SP: u.regs.v[m.sp], FP: fp, Place: frame, Generated: generated, Exact: exact, Frames: a.Frames[:0], unwinder: u}
	u.capture.Runtime.Step(a)
	if a.left || len(a.Frames) > 0 {
		u.managed = true
	}
	if len(a.Frames) > 0 {
		return append(dst, a.Frames...)
	}
	return append(dst, frame)
}

// leave continues at the caller that the runtime gave. Each frame must take some stack, so that
// the walk ends. A leaf whose return address may still be in a register may take none.
func (u *Unwinder) leave(s *step) (End, bool) {
	a, m := &u.activation, u.machine
	linked := s.exact && m.ra != m.pc // the return address may still be in a register
	if a.caller.sp < a.SP || a.caller.sp == a.SP && !linked {
		return Lost, true
	}
	knew := u.regs.has(m.fp)
	u.regs.known &= 1<<m.pc | 1<<m.sp
	u.regs.set(m.sp, a.caller.sp)
	if knew || a.caller.fp != 0 {
		u.regs.set(m.fp, a.caller.fp)
	}
	*s = step{}
	return u.enter(a.caller.pc)
}
