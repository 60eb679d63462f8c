package v8

import (
	"slices"

	"github.com/ringtap/ringtap/callchain"
)

// machine is what the engine does as the processor wants it. Registers are columns of DWARF.
type machine struct {
	function uint8 // the JSFunction that is called
	bytecode uint8 // the bytecode that runs
	array    uint8 // the BytecodeArray that is entered
	link     uint8 // where to return before a frame is made, noLink: that lies on the stack
	removed  uint8 // where to return while arguments are taken off the stack, of a machine without a link

	// versions are those whose frames are known on the machine, nil: all that are known.
	versions []version
	// exported says that the machine's exported functions tell of a program that was stripped.
	exported bool

	makesOutOfLine bool   // a builtin links the frames of baseline code
	entrySaves     uint64 // bytes that an entry frame has above its return address

	behind, ahead uint64 // bytes of code that tell how much of a frame there is
	// shapeAt is shapeOf for the code around at, which is so many bytes behind the begin of
	// its function.
	shapeAt func(code []byte, at int, behind uint64) (of shape, below uint64)
}

const noLink = 0xff

// machineOf is what is known of a machine; nil if that is nothing.
func machineOf(arch callchain.Arch) *machine {
	switch arch {
	case callchain.AMD64: // System V psABI of amd64, 3.6.2: rdi, r9, r12, r10
		return &machine{function: 5, bytecode: 9, array: 12, link: noLink, removed: 10, exported: true, makesOutOfLine: true, behind: 24, ahead: 48, shapeAt: shapeAMD64}
	case callchain.ARM64: // DWARF for the Arm 64-bit Architecture, 4.1
		return &machine{function: 1, bytecode: 19, array: 20, link: 30, versions: []version{{11, 3}, {12, 4}, {13, 6}, {14, 6}}, entrySaves: 18 * 8, behind: 256, ahead: 128, shapeAt: shapeARM64}
	}
	return nil
}

// knows tells whether the frames of a version are known on the machine.
func (m *machine) knows(v version) bool {
	return m.versions == nil || slices.Contains(m.versions, v)
}

// linked is where a function returns to by a register, if calls of the machine leave it there.
func (m *machine) linked(a *callchain.Activation) (pc uint64, ok bool) {
	if m.link == noLink {
		return 0, false
	}
	pc, ok = a.Register(m.link)
	return pc & (1<<48 - 1), ok // without its authentication code
}

// leave leaves a function whose frame is not whole, and whose stack pointer is so many bytes
// below its caller's.
func (m *machine) leave(a *callchain.Activation, of shape, below uint64) {
	fp := a.FP
	pc, ok := m.linked(a)
	if m.link == noLink {
		pc, ok = a.Word(a.SP + below - 8)
	}
	switch {
	case of == pushed:
		var known bool
		fp, known = a.Word(a.SP)
		ok = ok && known
	case of == after && m.link == noLink && (!ok || !a.Executable(pc-1)):
		pc, ok = a.Register(m.removed)
	}
	if ok {
		a.Leave(pc, a.SP+below, fp)
	}
}
