package callchain

import "slices"

// End says how a chain ended.
type End uint8

const (
	// Lost: the walk came to an address that is not code, or to registers that no rule can
	// handle. The frames found are right, their callers are unknown.
	Lost End = iota
	// Cut: the walk came to the end of the copied stack, or to the kernel's limit on the number
	// of frames.
	Cut
	// Complete: the walk reached the thread's outermost function.
	Complete
)

// String returns the word used in reports.
func (e End) String() string {
	switch e {
	case Cut:
		return "cut"
	case Complete:
		return "complete"
	}
	return "lost"
}

// Capture is what a sample holds about the user side of a thread. The caller owns it and may
// reuse it for the next sample.
type Capture struct {
	Regs Regs
	// Stack is the copied stack: Stack[0] is the byte at the stack pointer
	// (PERF_SAMPLE_STACK_USER cut to its dyn_size).
	Stack []byte
	// Beyond is the stack memory beyond the copy that was read when the sample was taken.
	Beyond Beyond
	// Other copies memory at an address on another stack and returns nil if it can't. Signal
	// handlers may have their own stack (sigaltstack(2)), and so has C code called from Go. A
	// copy is valid until the next call. If Other is nil, only Stack and Beyond can be read.
	Other func(sp uint64) []byte
	// Whole is true if no more of the stack can be copied. Only Waiting uses it.
	Whole bool
	// Chain is the user part of the kernel's callchain: the leaf, then return addresses.
	Chain []uint64
	// MaxStack is the number of entries at which the kernel ends Chain:
	// perf_event_attr.sample_max_stack minus the entries of the sample's kernel part, which
	// count too. It is zero if unknown.
	MaxStack int
	// Entry is true if the thread is at a function's first instruction, as with a probe there.
	// In code without an unwind table, the return address is then read from where the call put
	// it.
	Entry bool
	// Returns knows the real return addresses of frames with a return probe. If nil, there are
	// none.
	Returns Returns
	// OneStack asks for one stack's frames, like Go's own tracebacks of a goroutine: C
	// functions between two of its frames are left out without a mark.
	OneStack bool
	// Runtime knows the frames of code that the program generates; it may be nil. If it has
	// named or left a frame, the kernel's chain is not used.
	Runtime Runtime
}

// Unwinder makes chains of frames. It holds scratch memory and a cache of code addresses (about
// 200 KiB), so that unwinding does not allocate. Two goroutines must not use it at the same
// time.
type Unwinder struct {
	arch    Arch
	machine *machine
	regs    Regs
	old     Regs // registers before the current step
	mem     memory
	other   func(sp uint64) []byte // Capture.Other; nil once the walk has left a signal handler's stack
	eval    evaluator
	pcs     []uint64 // addresses of the frames of the last walk
	cache   []place

	repeatable bool // see Repeatable
	alone      bool // all memory that the last chain depends on is known: see Reach

	trampoline uint64 // see Probed
	returns    Returns
	capture    *Capture
	hidden     bool // the walk ended at the trampoline

	switches  int  // how often the chain has switched stacks
	more      int  // how many more frames the other stacks have room for, not yet added to the limit
	switching bool // the walk ended at a stack switch
	marked    bool // the chain has a mark
	called    called
	followed  int // index in the kernel's chain after the C functions that between found last; 0: none

	derivation derivation

	activation Activation // scratch
	managed    bool       // the runtime knew a frame of the last Unwind

	uncached place
}

// New returns an Unwinder for a machine's stacks. If arch is not one of the package's
// constants, every chain is Lost.
func New(arch Arch) *Unwinder {
	u := &Unwinder{arch: arch, machine: describe(arch), cache: make([]place, 1<<cacheBits)}
	u.eval.regs, u.eval.mem = &u.old, &u.mem
	u.derivation.isa = isaOf(arch)
	return u
}

// Unwind follows the copied stack from the captured registers. It leaves each frame by its
// object's table, or by the frame pointer if the table has no rule. It appends the frames to
// dst, leaf first. If the leaf's address is not executable, it appends nothing and returns
// Lost.
func (u *Unwinder) Unwind(dst []Frame, space AddressSpace, c *Capture) ([]Frame, End) {
	return u.finish(u.unwind(dst, space, c))
}

// unwind is Unwind without the mark at the end of the chain: see finish.
func (u *Unwinder) unwind(dst []Frame, space AddressSpace, c *Capture) ([]Frame, End) {
	u.begin()
	u.pcs = u.pcs[:0]
	u.repeatable, u.managed, u.alone = true, false, true
	if u.machine == nil || c.Regs.arch != u.arch {
		return dst, Lost
	}
	u.regs = c.Regs
	u.mem = newMemory(u.machine, c.Regs.v[u.machine.sp], c.Stack, u.mem.reads)
	u.mem.beyond = c.Beyond
	u.trampoline, u.returns, u.other = trampolineOf(space), c.Returns, c.Other
	u.derivation.use(space)
	u.capture, u.hidden = c, false
	return u.walk(dst, space, step{leaf: true, exact: true, entry: c.Entry})
}

// walk follows the copied stack from u.regs. s describes the first frame.
func (u *Unwinder) walk(dst []Frame, space AddressSpace, s step) ([]Frame, End) {
	version := versionOf(space)
	// Each frame but the leaf takes at least one word of the copy, except that a signal frame
	// may lead back down. The limit ends a circle of signal frames.
	for limit := (len(u.mem.data)+u.mem.beyond.size())/int(u.machine.word) + 2; limit > 0; limit-- {
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
			var ok bool
			if dst, ok = u.leaveOut(dst, space, &s); ok {
				continue
			}
			return dst, Lost
		}
		frame := p.frame
		if frame.Return = !s.exact; frame.Return && p.set != nil && p.set.flags&flagBegins != 0 {
			frame.Return, frame.Offset = false, frame.Offset+1
		}
		if s.leaf {
			if callee, ok := u.slotted(space); ok {
				frame, s.entry = callee, true
				p = &place{frame: callee}
			}
		}
		u.pcs, u.switching = append(u.pcs, pc), s.exact && !s.leaf && !u.mem.has(u.regs.v[u.machine.sp])
		left := false
		if u.capture.Runtime != nil {
			here := *p // the runtime's lookups may overwrite p
			p, dst = &here, u.ask(dst, frame, here.table == nil, s.exact)
			left = u.activation.left
		} else {
			dst = append(dst, frame)
		}
		if left {
			if end, done := u.leave(&s); done {
				return dst, end
			}
			continue
		}
		unruled := p.set == nil
		both := p.set != nil && p.set.flags&flagCallback != 0 && !u.capture.OneStack && u.onBothStacks()
		from := u.regs
		if both && u.systemFrame(p) {
			both = false
		}
		if end, done := u.step(p, &s); done {
			if end != Complete && unruled && !u.hidden && u.derivation.mayScan(Frame{Object: frame.Object, Offset: frame.PC()}) {
				return u.scan(dst, space, &from, end)
			}
			if u.hidden {
				dst = u.appendTrampoline(dst, space)
			} else if end != Complete {
				var ok bool
				if dst, ok = u.leaveOut(dst, space, &s); ok {
					continue
				}
			}
			return dst, end
		}
		if both {
			var end End
			var done bool
			if dst, end, done = u.callback(dst, space, from.v[u.machine.fp], &s); done {
				return dst, end
			}
		}
		limit, u.more = limit+u.more, 0
		if s.exact && u.other != nil && u.leaves() {
			limit += len(u.mem.data)/int(u.machine.word) + 2
		}
	}
	return dst, Lost
}

// appendTrampoline appends the frame that stands for the callers that a return probe hides.
func (u *Unwinder) appendTrampoline(dst []Frame, space AddressSpace) []Frame {
	if p := u.lookup(space, versionOf(space), u.trampoline); p != nil {
		dst = append(dst, p.frame)
	}
	return dst
}

// leaves switches to another stack copy if a signal handler runs on its own stack. It reports
// whether it did.
func (u *Unwinder) leaves() bool {
	sp := u.regs.v[u.machine.sp]
	if sp-u.mem.base < uint64(len(u.mem.data)) {
		return false
	}
	moved := u.move(sp)
	u.other = nil
	return moved
}

// Repeatable reports whether the last Unwind's chain depends only on these: the captured pc,
// stack pointer and frame pointer, the length of the copied stack, and its words listed by
// Reads. A later capture where all are equal, in the same version of the address space, has the
// same chain and need not be unwound.
func (u *Unwinder) Repeatable() bool { return u.repeatable && !u.mem.others && !u.marked }

// Marked reports whether the last chain lacks callers at a stack switch because Capture.Other
// could not copy the other stack.
func (u *Unwinder) Marked() bool { return u.marked }

// Reach returns where the memory that the last chain was read from ends. It is 0 if that is
// unknown, as for the kernel's chains.
func (u *Unwinder) Reach() uint64 {
	switch {
	case !u.alone:
		return 0
	case u.mem.reach > 0:
		return u.mem.reach
	case len(u.mem.reads) == 0:
		return u.mem.base
	}
	return u.mem.base + uint64(slices.Max(u.mem.reads)) + uint64(u.mem.size)
}

// Gap returns the memory below Beyond.Top that the last chain skips, or 0, 0 if it skips none.
func (u *Unwinder) Gap() (from, to uint64) {
	if !u.alone || len(u.mem.beyond.Top.Pages) == 0 || u.mem.reach <= u.mem.beyond.Top.From {
		return 0, 0
	}
	from = max(u.mem.low, u.mem.base)
	if len(u.mem.reads) > 0 {
		from = max(from, u.mem.base+uint64(slices.Max(u.mem.reads))+uint64(u.mem.size))
	}
	return from, u.mem.beyond.Top.From
}

// Reads returns the offsets in the copied stack of the words, of Arch.WordSize bytes, that the
// last Unwind read. They are valid until the next call.
func (u *Unwinder) Reads() []uint32 { return u.mem.reads }

func versionOf(space AddressSpace) uint64 {
	if v, ok := space.(Versioned); ok {
		return v.Version()
	}
	return 0
}
