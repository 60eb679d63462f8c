package hotspot

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
)

// The slots of an interpreted frame, as distances from its frame pointer
// (src/hotspot/cpu/x86/frame_x86.hpp).
const (
	slotSender    = 8  // the caller's stack pointer, before arguments were moved for it
	slotMethod    = 24 // the Method
	slotBytecode  = 64 // the bytecode that runs, as of its last call
	slotBytecode8 = 56 // the same in JDK 8, whose frames have no mirror of the method's class
)

// The columns of registers (System V psABI of amd64, 3.6.2) that the interpreter uses.
const (
	columnRAX = 0
	columnRBX = 3  // the Method, while the frame is made; the caller's stack pointer, when it is gone
	columnRSI = 4  // where to return, when it is gone
	columnR13 = 13 // the bytecode that runs; while the frame is made, the caller's stack pointer
)

// interpreted appends the method of an interpreted frame.
func (r *Runtime) interpreted(dst []interp.Level, a *callchain.Activation) []interp.Level {
	if a.Exact {
		if levels, ok := r.entered(dst, a); ok {
			return levels
		}
	}
	address, ok := a.Word(a.FP - slotMethod)
	if !ok || a.FP%8 != 0 {
		return dst
	}
	m := r.methodAt(address)
	if m == nil { // its class may have been unloaded since
		r.leaveInterpreted(a)
		return append(dst, r.nameless(a))
	}
	bytecode, _ := a.Word(a.FP - r.slotBytecode)
	if running, ok := a.Register(columnR13); a.Exact && ok && running-m.code < m.codeSize {
		bytecode = running
	}
	bci := 0
	if bytecode-m.code < m.codeSize {
		bci = int(bytecode - m.code)
	}
	r.leaveInterpreted(a)
	return append(dst, interp.Level{Frame: m.frame(bci), Offset: uint64(bci)})
}

// leaveInterpreted leaves an interpreted frame.
func (r *Runtime) leaveInterpreted(a *callchain.Activation) {
	sender, ok := a.Word(a.FP - slotSender)
	fp, ok2 := a.Word(a.FP)
	pc, ok3 := a.Word(a.FP + 8)
	if !ok || !ok2 || !ok3 || !a.Executable(pc-1) {
		return
	}
	if sender < a.FP+16 || sender > a.FP+16+maxArguments {
		sender = a.FP + 16
	}
	a.Leave(pc, sender, fp)
}

// leave says where the caller of a blob goes on.
func (r *Runtime) leave(a *callchain.Activation, b *blob) {
	switch {
	case b.frame == 0:
		r.leaveStub(a, b)
	case a.Exact:
		r.leaveLeaf(a, b)
	default:
		r.leaveFixed(a, b.frame)
	}
}

// leaveFixed leaves a frame whose size is known. Compiled code keeps the caller's frame
// pointer below the return address.
func (r *Runtime) leaveFixed(a *callchain.Activation, size uint64) {
	pc, ok := a.Word(a.SP + size - 8)
	fp, ok2 := a.Word(a.SP + size - 16)
	if ok && ok2 && size >= 16 {
		a.Leave(pc, a.SP+size, fp)
	}
}

// leaveBare leaves a function that has no frame yet, or none any more.
func leaveBare(a *callchain.Activation) {
	if pc, ok := a.Word(a.SP); ok {
		a.Leave(pc, a.SP+8, a.FP)
	}
}

// leavePushed leaves a function whose frame is the caller's frame pointer alone.
func leavePushed(a *callchain.Activation) {
	fp, ok := a.Word(a.SP)
	pc, ok2 := a.Word(a.SP + 8)
	if ok && ok2 {
		a.Leave(pc, a.SP+16, fp)
	}
}

// leaveLeaf leaves compiled code where it was interrupted: the first and last instructions
// of a method have another frame than the others.
func (r *Runtime) leaveLeaf(a *callchain.Activation, b *blob) {
	inPrologue, n := a.PC < b.complete, codeAhead
	if inPrologue {
		n = int(min(b.complete-a.PC, maxPrologue))
	}
	code, ok := r.codeAt(b, a.PC, n)
	if !ok {
		r.leaveFixed(a, b.frame)
		return
	}
	of := whole
	if inPrologue {
		of = making(code, b.frame)
	} else {
		of = shapeOf(code)
	}
	switch of {
	case bare:
		leaveBare(a)
	case pushed:
		leavePushed(a)
	case unsaved:
		if pc, ok := a.Word(a.SP + b.frame - 8); ok {
			a.Leave(pc, a.SP+b.frame, a.FP)
		}
	default:
		r.leaveFixed(a, b.frame)
	}
}

// barrierCookie lies between the return address and the frame pointer in the frame of the stub
// that a method calls when it is entered (generate_method_entry_barrier in stubGenerator_x86_64.cpp).
const barrierCookie = ^uint64(0)

// leaveStub leaves code that says nothing of its frame: most of it keeps a frame pointer,
// and what has no frame does not call.
func (r *Runtime) leaveStub(a *callchain.Activation, b *blob) {
	var code []byte
	if a.Exact {
		code, _ = r.codeAt(b, a.PC, 4)
	}
	if code != nil {
		switch {
		case code[0] == 0xc3, code[0] == 0x55, r.jumps(b):
			leaveBare(a)
			return
		case binary.LittleEndian.Uint32(code)&0xffffff == 0xec8b48, code[0] == 0x5d:
			leavePushed(a)
			return
		}
	}
	if !leaveFramed(a) && a.Exact {
		leaveBare(a)
	}
}

// leaveFramed leaves code that keeps a frame pointer; false if it seems to keep none.
func leaveFramed(a *callchain.Activation) bool {
	sp := a.FP + 16
	fp, ok := a.Word(a.FP)
	pc, ok2 := a.Word(sp - 8)
	if pc == barrierCookie {
		sp += 8
		pc, ok2 = a.Word(sp - 8)
	}
	if !ok || !ok2 || a.FP < a.SP || a.FP%8 != 0 || !a.Executable(pc-1) {
		return false
	}
	a.Leave(pc, sp, fp)
	return true
}

// jumps tells whether a blob only leads from a call to a method, and never has a frame.
func (r *Runtime) jumps(b *blob) bool {
	switch r.blobName(b) {
	case "I2C/C2I adapters", "vtable chunks", "MethodHandles adapters":
		return true
	}
	return false
}
