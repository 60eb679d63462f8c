package callchain

// Runtime knows the frames of functions that a program compiles or interprets at run time,
// which no table tells of.
type Runtime interface {
	// Step is asked about each frame before any rule is. It may name what runs there, and
	// say where the caller is: see Activation. What it says must follow from the
	// activation's words and registers, and from code and data that stay: it may not be
	// asked again about a chain that it has seen.
	Step(a *Activation)
}

// Activation is one frame of a copied stack.
type Activation struct {
	PC, SP uint64
	FP     uint64 // 0 if it is not known
	// Place is where in memory PC is, one byte before it for a caller; Generated says that
	// this is no file that has an unwind table.
	Place     Frame
	Generated bool
	// Exact says that PC is the interrupted instruction, not a return address.
	Exact bool
	// Frames is to be filled, leaf first, with what stands in the chain instead of the
	// frame's place in memory; empty: that.
	Frames []Frame

	unwinder *Unwinder
	left     bool
	caller   struct{ pc, sp, fp uint64 }
}

// Word reads eight bytes of the copied stack.
func (a *Activation) Word(addr uint64) (uint64, bool) { return a.unwinder.mem.word(addr) }

// Register is what a register holds, by its DWARF column; false if that is not known.
func (a *Activation) Register(column uint8) (uint64, bool) {
	a.unwinder.repeatable = false
	return a.unwinder.regs.v[column%maxRegs], a.unwinder.regs.has(column)
}

// Executable tells whether an address is in executable memory.
func (a *Activation) Executable(pc uint64) bool {
	u := a.unwinder
	return u.lookup(u.derivation.space, versionOf(u.derivation.space), pc) != nil
}

// Leave says where the frame's caller goes on, and its stack pointer and frame pointer
// then. Without it the frame is left like any other.
func (a *Activation) Leave(pc, sp, fp uint64) {
	a.left = true
	a.caller.pc, a.caller.sp, a.caller.fp = pc, sp, fp
}

// ask asks the runtime about the frame that the registers are of, and appends it to dst.
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

// leave goes on where the runtime has said. A frame takes some of the stack, so that the
// walk ends; where a call leaves the return address in a register, a leaf may take none.
func (u *Unwinder) leave(s *step) (End, bool) {
	a, m := &u.activation, u.machine
	linked := s.exact && m.ra != m.pc // the return address may be in a register still
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
