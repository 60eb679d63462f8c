package hotspot

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// Slots of an interpreted frame that are the same on all machines, as distances in bytes below
// its frame pointer (frame_x86.hpp and frame_aarch64.hpp in src/hotspot/cpu).
const (
	slotSender = 8  // the caller's stack pointer before arguments were moved
	slotMethod = 24 // the Method
)

// interpreted appends the method of an interpreted frame and leaves the frame.
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
	if m == nil { // the class may have been unloaded
		r.leaveInterpreted(a)
		return append(dst, r.nameless(a))
	}
	bytecode, _ := a.Word(a.FP - r.slotBytecode)
	if running, ok := a.Register(r.machine.running); a.Exact && ok && running-m.code < m.codeSize {
		bytecode = running
	}
	bci := 0
	if bytecode-m.code < m.codeSize {
		bci = int(bytecode - m.code)
	}
	r.leaveInterpreted(a)
	return append(dst, interp.Level{Frame: m.frame(bci), Offset: uint64(bci)})
}

func (r *Runtime) leaveInterpreted(a *callchain.Activation) {
	sender, ok := a.Word(a.FP - slotSender)
	fp, ok2 := a.Word(a.FP)
	pc, ok3 := r.machine.returns(a, a.FP+8)
	if !ok || !ok2 || !ok3 || !a.Executable(pc-1) {
		return
	}
	if sender < a.FP+16 || sender > a.FP+16+maxArguments {
		sender = a.FP + 16
	}
	a.Leave(pc, sender, fp)
}

// leave finds the caller of a blob.
func (r *Runtime) leave(a *callchain.Activation, b *blob) {
	switch {
	case b.frame == 0:
		r.leaveStub(a, b)
	case a.Exact:
		r.leaveLeaf(a, b)
	default:
		r.leaveFixed(a, b.frame+r.mark(a, b))
	}
}

// mark returns machine.mark for the place of an activation.
func (r *Runtime) mark(a *callchain.Activation, b *blob) uint64 {
	if !r.marks {
		return 0
	}
	text, ok := r.textOf(b)
	if !ok {
		return 0
	}
	return r.machine.mark(text, int(a.PC-b.code))
}

// leaveFixed leaves a frame of a known size in bytes. Compiled code stores the caller's frame
// pointer below the return address.
func (r *Runtime) leaveFixed(a *callchain.Activation, size uint64) {
	pc, ok := r.machine.returns(a, a.SP+size-8)
	fp, ok2 := a.Word(a.SP + size - 16)
	if ok && ok2 && size >= 16 {
		a.Leave(pc, a.SP+size, fp)
	}
}

// leaveLeaf leaves compiled code that was interrupted. In the first and last instructions of a
// method the frame is different.
func (r *Runtime) leaveLeaf(a *callchain.Activation, b *blob) {
	of, below := whole, b.frame
	if text, ok := r.textOf(b); ok {
		of, below = r.machine.leaf(text, int(a.PC-b.code), int(b.complete-b.code), b.frame)
	}
	switch of {
	case whole:
		r.leaveFixed(a, below+r.mark(a, b))
	case framed:
		r.leaveFramed(a)
	default:
		r.machine.leave(a, of, below)
	}
}

// barrierCookie lies between the return address and the frame pointer in the frame of the stub
// that a method calls on entry (generate_method_entry_barrier in stubGenerator_x86_64.cpp).
const barrierCookie = ^uint64(0)

// leaveStub leaves code that does not describe its frame. Most such code keeps a frame pointer.
// Code without a frame does not call anything.
func (r *Runtime) leaveStub(a *callchain.Activation, b *blob) {
	if !a.Exact {
		r.leaveFramed(a)
		return
	}
	of, below := framed, uint64(0)
	if text, ok := r.textOf(b); ok {
		of, below = r.machine.stub(text, int(a.PC-b.code), r.jumps(b))
	}
	switch of {
	case framed:
		if !r.leaveFramed(a) {
			r.machine.leave(a, bare, r.machine.bare)
		}
	case moved:
		r.machine.leave(a, bare, r.moved(a))
	default:
		r.machine.leave(a, of, below)
	}
}

// moved returns by how many bytes an adapter has moved the stack pointer for its callee's
// arguments.
func (r *Runtime) moved(a *callchain.Activation) uint64 {
	if r.interpreter.sender == 0 { // unknown
		return 0
	}
	sender, _ := a.Register(r.interpreter.sender)
	if sender < a.SP || sender > a.SP+maxArguments {
		return 0
	}
	return sender - a.SP
}

// leaveFramed leaves code with a frame pointer. It returns false if there seems to be none.
func (r *Runtime) leaveFramed(a *callchain.Activation) bool {
	sp := a.FP + 16
	fp, ok := a.Word(a.FP)
	pc, ok2 := r.machine.returns(a, sp-8)
	if pc == barrierCookie {
		sp += 8
		pc, ok2 = r.machine.returns(a, sp-8)
	}
	if !ok || !ok2 || a.FP < a.SP || a.FP%8 != 0 || !a.Executable(pc-1) {
		return false
	}
	a.Leave(pc, sp, fp)
	return true
}

// jumps reports whether a blob only connects a call to a method, and never has a frame.
func (r *Runtime) jumps(b *blob) bool {
	switch r.blobName(b) {
	case "I2C/C2I adapters", "vtable chunks", "MethodHandles adapters":
		return true
	}
	return false
}
