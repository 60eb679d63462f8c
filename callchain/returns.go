package callchain

import "encoding/binary"

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
	if u.returns != nil {
		if address, ok := u.returns.Return(u.regs.v[u.machine.sp]); ok {
			return address, true
		}
	}
	return u.inChain()
}

// inChain looks a return address up in the kernel's chain, which since Linux 6.11 has the
// real ones: it is there if the frame that was left last has a frame record, below its
// return address.
func (u *Unwinder) inChain() (uint64, bool) {
	c := u.capture
	i, ok := u.record(c, u.regs.v[u.machine.sp]-2*uint64(u.machine.word))
	if !ok || c.Chain[i] == u.trampoline || !u.isCaller(c.Chain[i]) {
		return 0, false
	}
	return c.Chain[i], true
}

// slotted returns the registers of the caller of a thread that executes a probed
// instruction in its slot, beside the program, and the function that was called. The
// slot's page begins with the trampoline. What was probed is not known: at a function's
// first instruction, where most probes are, the stack pointer is at the return address.
func (u *Unwinder) slotted(space AddressSpace) (callee Frame, ok bool) {
	pc := u.regs.v[u.machine.pc]
	if u.arch == ARM64 || u.trampoline == 0 || pc-u.trampoline >= slotsSize || u.derivation.code == nil {
		return Frame{}, false
	}
	ra, ok := u.mem.word(u.regs.v[u.machine.sp])
	if !ok || !u.isCaller(ra) {
		return Frame{}, false
	}
	p := u.lookup(space, versionOf(space), ra-1)
	if p.frame.Offset < 5 {
		return Frame{}, false
	}
	var call [5]byte // call rel32
	if u.derivation.code.ReadCode(p.frame.Object, p.frame.Offset-4, call[:]) < len(call) || call[0] != 0xe8 {
		return Frame{}, false
	}
	to := u.lookup(space, versionOf(space), ra+uint64(int64(int32(binary.LittleEndian.Uint32(call[1:])))))
	if to == nil {
		return Frame{}, false
	}
	return to.frame, true
}

// slotsSize is the size of the mapping [uprobes] (UINSNS_PER_PAGE slots,
// kernel/events/uprobes.c).
const slotsSize = 4096

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
	mem := newMemory(m, sp, c.Stack, nil)
	address, ok = mem.word(sp)
	return sp + uint64(m.word), address, ok
}
