package callchain

import "slices"

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
	// Beyond is what was read of the stack behind the copy, at the same moment.
	Beyond Beyond
	// Other copies the memory at an address on another stack, if it is known: the handler
	// of a signal may have a stack of its own (sigaltstack(2)), and so has C code that Go
	// calls. A copy is used until the next call. nil: what was copied is all there is.
	Other func(sp uint64) []byte
	// Whole says that no more of the stack can be copied. It is of Waiting alone.
	Whole bool
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
	// Returns knows the return addresses of the thread's frames that return probes
	// have replaced; nil: none.
	Returns Returns
	// OneStack asks for the frames of one stack, as Go's own tracebacks show a goroutine's:
	// C functions between two of its frames are left out without a mark.
	OneStack bool
	// Runtime knows frames of the program's own making; nil: there are none. The kernel's
	// chain is not taken for one that it has had a say in.
	Runtime Runtime
}

// Unwinder makes chains of frames. It holds scratch memory and a cache of code
// addresses (about 200 KiB), so that unwinding does not allocate; it must not
// be used by two goroutines at a time.
type Unwinder struct {
	arch    Arch
	machine *machine
	regs    Regs
	old     Regs // registers before the step under way
	mem     memory
	other   func(sp uint64) []byte // Capture.Other; nil after a signal handler's stack was left
	eval    evaluator
	pcs     []uint64 // addresses of the frames unwound last
	cache   []place

	repeatable bool // see Repeatable
	alone      bool // the memory is known that the last chain follows from: see Reach

	trampoline uint64 // see Probed
	returns    Returns
	capture    *Capture
	hidden     bool // the walk has ended at the trampoline

	switches  int  // how often the chain has gone on on another stack
	more      int  // frames that the other stacks have room for, not yet counted
	switching bool // the walk has ended where the stack is switched
	marked    bool // the chain has a mark
	called    called
	followed  int // index in the kernel's chain after the C functions that between has found last; 0: none

	derivation derivation

	activation Activation // scratch
	managed    bool       // the runtime has known a frame of the last Unwind

	uncached place
}

// New makes an Unwinder for a machine's stacks. With an Arch that is not one of
// the package's constants every chain is Lost.
func New(arch Arch) *Unwinder {
	u := &Unwinder{arch: arch, machine: describe(arch), cache: make([]place, 1<<cacheBits)}
	u.eval.regs, u.eval.mem = &u.old, &u.mem
	u.derivation.isa = isaOf(arch)
	return u
}

// Unwind follows the copied stack from the captured registers: each frame by
// its object's table, or by the frame pointer where the table has no rule. It
// appends the frames to dst, leaf first. If even the leaf's address is not
// executable, it appends nothing and the chain is Lost.
func (u *Unwinder) Unwind(dst []Frame, space AddressSpace, c *Capture) ([]Frame, End) {
	return u.finish(u.unwind(dst, space, c))
}

// unwind is Unwind without the mark where a chain has ended.
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

// walk follows the copied stack from the registers of a frame.
func (u *Unwinder) walk(dst []Frame, space AddressSpace, s step) ([]Frame, End) {
	version := versionOf(space)
	// Each frame but the leaf takes at least one word of the copy, except that
	// a signal frame may lead back down. The limit ends a circle of those.
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
			here := *p // asking looks up other places
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

// appendTrampoline appends the frame that stands for callers which a return probe hides.
func (u *Unwinder) appendTrampoline(dst []Frame, space AddressSpace) []Frame {
	if p := u.lookup(space, versionOf(space), u.trampoline); p != nil {
		dst = append(dst, p.frame)
	}
	return dst
}

// leaves goes on with another copy if what a signal has interrupted is not on the stack
// of its handler.
func (u *Unwinder) leaves() bool {
	sp := u.regs.v[u.machine.sp]
	if sp-u.mem.base < uint64(len(u.mem.data)) {
		return false
	}
	moved := u.move(sp)
	u.other = nil
	return moved
}

// Repeatable says that the chain of the last Unwind follows from the captured pc,
// stack pointer, frame pointer, the length of the copied stack and the words of it
// that Reads tells: in the same version of the address space, where these are the
// same it is the same, whatever the other registers and words hold. So it need not be
// unwound again.
func (u *Unwinder) Repeatable() bool { return u.repeatable && !u.mem.others && !u.marked }

// Marked reports whether the last chain lacks callers where it goes on on another stack, which
// Capture.Other could not copy.
func (u *Unwinder) Marked() bool { return u.marked }

// Reach is where the memory ends that was read for the last chain; 0 if that is not known, as of
// one by the kernel.
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

// Gap is the memory below the Top that the last chain leads over; nothing if it does not lead there.
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

// Reads returns where in the copied stack the words lie, of Arch.WordSize bytes, that the
// last Unwind has read. They are valid until the next call.
func (u *Unwinder) Reads() []uint32 { return u.mem.reads }

func versionOf(space AddressSpace) uint64 {
	if v, ok := space.(Versioned); ok {
		return v.Version()
	}
	return 0
}
