package hotspot

import "github.com/ringtap/ringtap/callchain"

// machine is what the virtual machine does as the processor wants it. Registers are columns of DWARF.
type machine struct {
	running uint8 // the bytecode that an interpreted method runs
	link    uint8 // where to return before a frame is made, noLink: that lies on the stack

	// The slot of an interpreted frame for the bytecode that runs, as of its last call: as a distance from
	// the frame pointer, and the same in JDK 8, whose frames have no mirror of the method's class.
	slotBytecode, slotBytecode8 uint64

	addresses uint64 // the bits of an address: return addresses may be signed above them
	bare      uint64 // how far the stack pointer of a function without a frame is below its caller's

	// entry finds in code that enters an interpreted method where it makes the frame.
	entry func(code []byte, at uint64) (entry, bool)
	// partial tells of an interpreted frame that has not all of its words, or none any more.
	partial func(r *Runtime, a *callchain.Activation) (partial, bool)
	// leaf tells how much of the frame of compiled code there is at a place, of so many bytes once
	// it has come to where it is complete.
	leaf func(code []byte, at, complete int, frame uint64) (of shape, below uint64)
	// stub is the same for code that says nothing of its frame. It may be of an adapter.
	stub func(code []byte, at int, adapts bool) (of shape, below uint64)
	// mark is how much compiled code has put on top of its frame where it calls a function of the virtual
	// machine; nil if it puts nothing there.
	mark func(code []byte, at int) uint64
}

const noLink = 0xff

// machineOf is what is known of a machine; nil if that is nothing.
func machineOf(arch callchain.Arch) *machine {
	switch arch {
	case callchain.AMD64: // System V psABI of amd64, 3.6.2: r13
		return &machine{running: 13, link: noLink, slotBytecode: 64, slotBytecode8: 56, addresses: ^uint64(0), bare: 8,
			entry: entryAMD64, partial: partialAMD64, leaf: leafAMD64, stub: stubAMD64}
	case callchain.ARM64: // DWARF for the Arm 64-bit Architecture, 4.1
		return &machine{running: 22, link: 30, slotBytecode: 72, slotBytecode8: 56, addresses: 1<<48 - 1,
			entry: entryARM64, partial: partialARM64, leaf: leafARM64, stub: stubARM64, mark: markARM64}
	}
	return nil
}

// shape is how much of a frame there is.
type shape uint8

const (
	whole  shape = iota // the caller's frame pointer and the return address lie at its upper end
	framed              // they lie where the frame pointer is
	pushed              // the caller's frame pointer lies on top
	bare                // it is still in its register
	moved               // the same, and the stack pointer may have been moved for arguments
)

// partial is an interpreted frame that is being made, or has been left.
type partial struct {
	pc, sp, fp uint64 // of the caller
	known      bool   // where that is
	method     uint64 // 0: which it is of is not known
}

// returns is a return address on the stack.
func (m *machine) returns(a *callchain.Activation, at uint64) (pc uint64, ok bool) {
	pc, ok = a.Word(at)
	return pc & m.addresses, ok
}

// leave leaves a function whose frame is not whole, and whose stack pointer is so many bytes
// below its caller's.
func (m *machine) leave(a *callchain.Activation, of shape, below uint64) {
	var pc uint64
	var ok bool
	if m.link != noLink && of != pushed {
		pc, ok = a.Register(m.link)
		pc &= m.addresses
	} else {
		pc, ok = m.returns(a, a.SP+below-8)
	}
	fp := a.FP
	if of == pushed {
		var known bool
		fp, known = a.Word(a.SP)
		ok = ok && known
	}
	if ok {
		a.Leave(pc, a.SP+below, fp)
	}
}
