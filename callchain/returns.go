package callchain

// Returns knows what a return probe hides: while a function runs whose return is
// probed, its return address on the stack is that of a trampoline, and the kernel
// alone has the real one (uretprobe_instances, kernel/events/uprobes.c).
type Returns interface {
	// Return returns the address that the function will return to whose frame ends
	// at cfa, the stack pointer after its return.
	Return(cfa uint64) (address uint64, ok bool)
}

// Probed is an AddressSpace that may have return probes. Trampoline is the address
// that probed functions seem to return to, the first of the mapping [uprobes]; 0 where
// there is no such mapping.
type Probed interface {
	Trampoline() uint64
}

func trampolineOf(space AddressSpace) uint64 {
	if p, ok := space.(Probed); ok {
		return p.Trampoline()
	}
	return 0
}

// replaced returns where the frame really returns to that was left last.
func (u *Unwinder) replaced() (uint64, bool) {
	if u.returns == nil {
		return 0, false
	}
	return u.returns.Return(u.regs.v[u.machine.sp])
}

// Caller returns, of a capture at a function's first instruction (Entry), where the
// function will return to, and its canonical frame address: the stack pointer after
// that. It is what Returns is asked for later.
func (c *Capture) Caller() (cfa, address uint64, ok bool) {
	m := describe(c.Regs.arch)
	if m == nil || !c.Regs.has(m.sp) {
		return 0, 0, false
	}
	sp := c.Regs.v[m.sp]
	if m.ra != m.pc {
		return sp, stripPAC(c.Regs.v[m.ra]), c.Regs.has(m.ra)
	}
	mem := memory{base: sp, data: c.Stack}
	address, ok = mem.word(sp)
	return sp + 8, address, ok
}
