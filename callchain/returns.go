package callchain

import "encoding/binary"

// Returns knows the return addresses that return probes hide. While a function with a return
// probe runs, its return address on the stack is the trampoline's, and only the kernel has the
// real one (uretprobe_instances, kernel/events/uprobes.c).
type Returns interface {
	// Return returns the real return address of the function whose frame ends at cfa. cfa is
	// the stack pointer after the function's return.
	Return(cfa uint64) (address uint64, ok bool)
}

// Probed is an AddressSpace that may have return probes. Trampoline returns the address that
// probed functions seem to return to: the start of the mapping [uprobes]. It returns 0 if there
// is no such mapping.
type Probed interface {
	Trampoline() uint64
}

func trampolineOf(space AddressSpace) uint64 {
	if p, ok := space.(Probed); ok {
		return p.Trampoline()
	}
	return 0
}

// replaced returns the real return address of the frame that the walk has just left.
func (u *Unwinder) replaced() (uint64, bool) {
	if u.returns != nil {
		if address, ok := u.returns.Return(u.regs.v[u.machine.sp]); ok {
			return address, true
		}
	}
	return u.inChain()
}

// inChain looks up the return address of the frame just left in the kernel's chain, which has
// the real ones since Linux 6.11. It is there if that frame has a frame record, below its
// return address.
func (u *Unwinder) inChain() (uint64, bool) {
	c := u.capture
	i, ok := u.record(c, u.regs.v[u.machine.sp]-2*uint64(u.machine.word))
	if !ok || c.Chain[i] == u.trampoline || !u.isCaller(c.Chain[i]) {
		return 0, false
	}
	return c.Chain[i], true
}

// slotted handles a leaf that executes a probed instruction in its slot outside the program. It
// finds the probed function by the call before the return address. The slot's page starts with
// the trampoline. Which instruction was probed is unknown. At a function's first instruction,
// where most probes are, the stack pointer points at the return address.
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

// Caller returns where a function will return to, for a capture at its first instruction
// (Entry), and its canonical frame address: the stack pointer after that return. Returns.Return
// takes that cfa later.
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
