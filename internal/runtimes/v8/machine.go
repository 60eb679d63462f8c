package v8

import (
	"slices"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/arch"
)

// machine holds the parts of the engine that depend on the processor. Registers are DWARF
// numbers.
type machine struct {
	function uint8 // the called JSFunction
	bytecode uint8 // the current bytecode
	array    uint8 // the BytecodeArray of the function being entered
	link     uint8 // the return address before a frame is made; arch.None if it is on the stack
	removed  uint8 // the return address while arguments are being popped, if link is arch.None

	// versions are those with known frames on this machine; nil: all versions in editions.
	versions []version
	// exported is true if builtins can be found through a stripped program's exports.
	exported bool

	makesOutOfLine bool   // a builtin makes the frames of baseline code
	entrySaves     uint64 // size in bytes of an entry frame above its return address

	behind, ahead uint64 // bytes of code before and after a place that are needed to find its frame's shape
	// shapeAt is shapeOf for the code around code[offset], which is behind bytes after the
	// start of its function.
	shapeAt func(code []byte, offset int, behind uint64) (s shape, below uint64)
}

// machineOf returns the description of a machine, or nil if it is unknown.
func machineOf(a callchain.Arch) *machine {
	switch a {
	case callchain.AMD64:
		return &machine{function: arch.RDI.DWARF, bytecode: arch.R9.DWARF, array: arch.R12.DWARF, link: arch.None, removed: arch.R10.DWARF,
			exported: true, makesOutOfLine: true, behind: 24, ahead: 48, shapeAt: shapeAMD64}
	case callchain.ARM64:
		return &machine{function: arch.X[1].DWARF, bytecode: arch.X[19].DWARF, array: arch.X[20].DWARF, link: arch.ARM64.LR.DWARF,
			versions: []version{{11, 3}, {12, 4}, {13, 6}, {14, 6}}, entrySaves: 18 * 8, behind: 256, ahead: 128, shapeAt: shapeARM64}
	}
	return nil
}

func (m *machine) knows(v version) bool {
	return m.versions == nil || slices.Contains(m.versions, v)
}

// linked returns the return address in the link register, if calls on the machine use one.
func (m *machine) linked(a *callchain.Activation) (pc uint64, ok bool) {
	if m.link == arch.None {
		return 0, false
	}
	pc, ok = a.Register(m.link)
	return pc & (1<<48 - 1), ok // remove the authentication code
}

// leave leaves a function whose frame is not whole. below is how many bytes its stack pointer
// is below its caller's.
func (m *machine) leave(a *callchain.Activation, s shape, below uint64) {
	fp := a.FP
	pc, ok := m.linked(a)
	if m.link == arch.None {
		pc, ok = a.Word(a.SP + below - 8)
	}
	switch {
	case s == pushed:
		var known bool
		fp, known = a.Word(a.SP)
		ok = ok && known
	case s == after && m.link == arch.None && (!ok || !a.Executable(pc-1)):
		pc, ok = a.Register(m.removed)
	}
	if ok {
		a.Leave(pc, a.SP+below, fp)
	}
}
