package hotspot

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/arch"
)

// machine holds the parts of the virtual machine that depend on the processor. Registers are
// DWARF numbers.
type machine struct {
	running uint8 // the current bytecode in an interpreted method
	link    uint8 // the return address before a frame is made; arch.None if it is on the stack

	// Slots of an interpreted frame for the bytecode of its last call, as distances in bytes
	// below the frame pointer. slotBytecode8 is for JDK 8, whose frames lack the mirror of the
	// method's class.
	slotBytecode, slotBytecode8 uint64

	addresses uint64 // the bits of an address: return addresses may be signed in the bits above
	bare      uint64 // how many bytes a frameless function's stack pointer is below its caller's

	// entry finds where code that enters an interpreted method makes the frame. addr is the
	// address of code.
	entry func(code []byte, addr uint64) (entry, bool)
	// partial returns what is known of an interpreted frame that is incomplete or gone.
	partial func(r *Runtime, a *callchain.Activation) (partial, bool)
	// leaf returns the shape of compiled code's frame at offset, and how many bytes the stack
	// pointer is below the caller's. From the offset complete on the frame is whole and has
	// frame bytes.
	leaf func(code []byte, offset, complete int, frame uint64) (s shape, below uint64)
	// stub is leaf for code that does not describe its frame. adapts is true if the code may be
	// an adapter.
	stub func(code []byte, offset int, adapts bool) (s shape, below uint64)
	// mark returns how many bytes compiled code has pushed below its frame if it calls a
	// function of the virtual machine at offset. It is nil if code never does that.
	mark func(code []byte, offset int) uint64
}

// machineOf returns the description of a machine, or nil if it is unknown.
func machineOf(a callchain.Arch) *machine {
	switch a {
	case callchain.AMD64:
		return &machine{running: arch.R13.DWARF, link: arch.None, slotBytecode: 64, slotBytecode8: 56, addresses: ^uint64(0), bare: 8,
			entry: entryAMD64, partial: partialAMD64, leaf: leafAMD64, stub: stubAMD64}
	case callchain.ARM64:
		return &machine{running: arch.X[22].DWARF, link: arch.ARM64.LR.DWARF, slotBytecode: 72, slotBytecode8: 56, addresses: 1<<48 - 1,
			entry: entryARM64, partial: partialARM64, leaf: leafARM64, stub: stubARM64, mark: markARM64}
	}
	return nil
}

// shape says where the caller's frame pointer and the return address are.
type shape uint8

const (
	whole  shape = iota // at the upper end of the frame
	framed              // where the frame pointer points
	pushed              // the caller's frame pointer is on top of the stack
	bare                // the caller's frame pointer is still in its register
	moved               // the same, but arguments may have moved the stack pointer
)

// partial is an interpreted frame that is being made, or has just been left.
type partial struct {
	pc, sp, fp uint64 // the caller's
	known      bool   // they are known
	method     uint64 // the Method; 0: unknown
}

// returns reads the return address on the stack at addr.
func (m *machine) returns(a *callchain.Activation, addr uint64) (pc uint64, ok bool) {
	pc, ok = a.Word(addr)
	return pc & m.addresses, ok
}

// leave leaves a function whose frame is not whole. below is how many bytes its stack pointer
// is below its caller's.
func (m *machine) leave(a *callchain.Activation, s shape, below uint64) {
	var pc uint64
	var ok bool
	if m.link != arch.None && s != pushed {
		pc, ok = a.Register(m.link)
		pc &= m.addresses
	} else {
		pc, ok = m.returns(a, a.SP+below-8)
	}
	fp := a.FP
	if s == pushed {
		var known bool
		fp, known = a.Word(a.SP)
		ok = ok && known
	}
	if ok {
		a.Leave(pc, a.SP+below, fp)
	}
}
