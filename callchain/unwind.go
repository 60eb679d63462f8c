package callchain

// End says how a chain ended.
type End uint8

const (
	// Lost: the walk came to an address that is not code, or to registers that
	// no rule makes sense of. The frames found are right, their callers are
	// unknown.
	Lost End = iota
	// Cut: the walk came to the end of the copied stack, or of the number of
	// frames that the kernel takes.
	Cut
	// Complete: the walk came to the outermost function of the thread.
	Complete
)

// String is the word that reports use.
func (e End) String() string {
	switch e {
	case Cut:
		return "cut"
	case Complete:
		return "complete"
	}
	return "lost"
}

// Capture is what a sample says about the user side of a thread. The caller
// owns it and may reuse it for the next sample.
type Capture struct {
	Regs Regs
	// Stack is the copied stack: Stack[0] is the byte at the stack pointer
	// (PERF_SAMPLE_STACK_USER cut to its dyn_size).
	Stack []byte
	// Chain is the user part of the kernel's callchain, leaf first, then
	// return addresses.
	Chain []uint64
	// MaxStack is the number of entries at which the kernel has ended Chain:
	// perf_event_attr.sample_max_stack less the entries of the sample's kernel
	// part, which count too. Zero if unknown.
	MaxStack int
	// Entry says that the thread is at a function's first instruction, as it
	// is for a probe there: in code without an unwind table the return address
	// is then taken from where the call put it.
	Entry bool
}

// Unwinder makes chains of frames. It holds scratch memory and a cache of code
// addresses (about 230 KiB), so that unwinding does not allocate; it must not
// be used by two goroutines at a time.
type Unwinder struct {
	arch    Arch
	machine *machine
	regs    Regs
	old     Regs // registers before the step under way
	mem     memory
	eval    evaluator
	pcs     []uint64 // addresses of the frames unwound last
	cache   []place

	repeatable bool // see Repeatable

	uncached place
}

// New makes an Unwinder for a machine's stacks. With an Arch that is not one of
// the package's constants every chain is Lost.
func New(arch Arch) *Unwinder {
	u := &Unwinder{arch: arch, machine: describe(arch), cache: make([]place, 1<<cacheBits)}
	u.eval.regs, u.eval.mem = &u.old, &u.mem
	return u
}

// Unwind follows the copied stack from the captured registers: each frame by
// its object's table, or by the frame pointer where the table has no rule. It
// appends the frames to dst, leaf first. If even the leaf's address is not
// executable, it appends nothing and the chain is Lost.
func (u *Unwinder) Unwind(dst []Frame, space AddressSpace, c *Capture) ([]Frame, End) {
	u.pcs = u.pcs[:0]
	u.repeatable = true
	if u.machine == nil || c.Regs.arch != u.arch {
		return dst, Lost
	}
	u.regs = c.Regs
	u.mem = memory{base: c.Regs.v[u.machine.sp], data: c.Stack}
	version := versionOf(space)
	s := step{leaf: true, exact: true, entry: c.Entry}
	// Each frame but the leaf takes at least one word of the copy, except that
	// a signal frame may lead back down. The limit ends a circle of those.
	for limit := len(c.Stack)/8 + 2; limit > 0; limit-- {
		pc := u.regs.v[u.machine.pc]
		at := pc
		if !s.exact {
			at--
		}
		p := u.lookup(space, version, at)
		if p == nil && u.arch == ARM64 {
			pc, at = stripShortPAC(pc), stripShortPAC(at)
			p = u.lookup(space, version, at)
		}
		if p == nil {
			return dst, Lost
		}
		dst = append(dst, p.frame)
		u.pcs = append(u.pcs, pc)
		if end, done := u.step(p, &s); done {
			return dst, end
		}
	}
	return dst, Lost
}

// Repeatable says that the chain of the last Unwind follows from the captured pc,
// stack pointer, frame pointer and stack alone: in the same version of the
// address space, where these are the same it is the same, whatever the other
// registers hold. So it need not be unwound again.
func (u *Unwinder) Repeatable() bool { return u.repeatable }

func versionOf(space AddressSpace) uint64 {
	if v, ok := space.(Versioned); ok {
		return v.Version()
	}
	return 0
}
