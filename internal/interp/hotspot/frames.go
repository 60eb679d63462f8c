package hotspot

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
)

// The slots of an interpreted frame, as distances from its frame pointer
// (src/hotspot/cpu/x86/frame_x86.hpp).
const (
	slotSender   = 8  // the caller's stack pointer, before arguments were moved for it
	slotMethod   = 24 // the Method
	slotBytecode = 64 // the bytecode that runs, as of its last call
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
	if m == nil {
		return append(dst, r.nameless(a))
	}
	bytecode, _ := a.Word(a.FP - slotBytecode)
	if running, ok := a.Register(columnR13); a.Exact && ok && running-m.code < m.codeSize {
		bytecode = running
	}
	bci := 0
	if bytecode-m.code < m.codeSize {
		bci = int(bytecode - m.code)
	}
	sender, ok := a.Word(a.FP - slotSender)
	fp, ok2 := a.Word(a.FP)
	pc, ok3 := a.Word(a.FP + 8)
	if ok && ok2 && ok3 {
		if sender < a.FP+16 || sender > a.FP+16+maxArguments {
			sender = a.FP + 16
		}
		a.Leave(pc, sender, fp)
	}
	return append(dst, interp.Level{Frame: m.frame(bci), Offset: uint64(bci)})
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

// codeAhead is how many bytes of instructions are looked at.
const codeAhead = 32

// leaveLeaf leaves compiled code where it was interrupted: the first and last instructions
// of a method have another frame than the others.
func (r *Runtime) leaveLeaf(a *callchain.Activation, b *blob) {
	var code [codeAhead]byte
	if !r.mem.Read(a.PC, code[:]) {
		r.leaveFixed(a, b.frame)
		return
	}
	switch shapeOf(code[:], a.PC < b.complete) {
	case bare:
		leaveBare(a)
	case pushed:
		leavePushed(a)
	default:
		r.leaveFixed(a, b.frame)
	}
}

// shape is how much of a frame there is.
type shape uint8

const (
	whole  shape = iota
	pushed       // the caller's frame pointer lies on top
	bare         // the return address does
)

// shapeOf tells from the instructions at a place how much of the frame there is: making
// says that it is before the end of the frame's making.
func shapeOf(code []byte, making bool) shape {
	is := func(at int, bytes ...byte) bool {
		for i, b := range bytes {
			if code[at+i] != b {
				return false
			}
		}
		return true
	}
	switch {
	case is(0, 0xc3): // ret
		return bare
	case is(0, 0x5d): // pop %rbp
		return pushed
	case making && (is(0, 0x48, 0x83, 0xec) || is(0, 0x48, 0x81, 0xec)): // sub $n,%rsp
		if afterPush(code) {
			return pushed
		}
		return bare
	case making && (is(0, 0x48, 0x8b, 0xec) || is(0, 0x48, 0x89, 0xe5)): // mov %rsp,%rbp
		return pushed
	case making && is(0, 0x48, 0x89, 0x6c, 0x24), making && is(0, 0x48, 0x89, 0xac, 0x24): // mov %rbp,n(%rsp)
		return whole
	case making:
		return bare
	}
	// A poll for a safepoint goes between the frame's end and the return.
	for _, poll := range []struct {
		code   []byte
		length int
	}{
		{[]byte{0x49, 0x3b, 0x67}, 4}, // cmp n(%r15),%rsp
		{[]byte{0x49, 0x3b, 0xa7}, 7}, // the same, farther off
		{[]byte{0x0f, 0x87}, 6},       // ja
		{[]byte{0x41, 0x85, 0x02}, 3}, // test %eax,(%r10)
		{[]byte{0x85, 0x05}, 6},       // test %eax,n(%rip)
		{[]byte{0x4d, 0x8b, 0x57}, 4}, // mov n(%r15),%r10
		{[]byte{0x4d, 0x8b, 0x97}, 7}, // the same, farther off
		{[]byte{0xc5, 0xf8, 0x77}, 3}, // vzeroupper
	} {
		if is(0, poll.code...) && endsSoon(code[poll.length:]) {
			return bare
		}
	}
	return whole
}

// endsSoon tells whether code polls and returns at once.
func endsSoon(code []byte) bool {
	for len(code) >= 7 {
		switch {
		case code[0] == 0xc3:
			return true
		case code[0] == 0x0f && code[1] == 0x87:
			code = code[6:]
		case code[0] == 0x41 && code[1] == 0x85 && code[2] == 0x02:
			code = code[3:]
		case code[0] == 0x49 && code[1] == 0x3b && code[2] == 0x67:
			code = code[4:]
		case code[0] == 0x49 && code[1] == 0x3b && code[2] == 0xa7:
			code = code[7:]
		default:
			return false
		}
	}
	return false
}

// afterPush tells whether the frame pointer is saved by a push: then the instructions after
// sub do not save it.
func afterPush(code []byte) bool {
	n := 4
	if code[1] == 0x81 {
		n = 7
	}
	return code[n] != 0x48 || code[n+1] != 0x89 || code[n+2]&^0xc0 != 0x2c || code[n+3] != 0x24
}

// leaveStub leaves code that says nothing of its frame: most of it keeps a frame pointer,
// and what has no frame does not call.
func (r *Runtime) leaveStub(a *callchain.Activation, b *blob) {
	var code [4]byte
	if a.Exact && r.mem.Read(a.PC, code[:]) {
		switch {
		case code[0] == 0xc3, code[0] == 0x55, r.jumps(b):
			leaveBare(a)
			return
		case binary.LittleEndian.Uint32(code[:])&0xffffff == 0xec8b48, code[0] == 0x5d:
			leavePushed(a)
			return
		}
	}
	fp, ok := a.Word(a.FP)
	pc, ok2 := a.Word(a.FP + 8)
	if ok && ok2 && a.FP >= a.SP && a.FP%8 == 0 && a.Executable(pc-1) {
		a.Leave(pc, a.FP+16, fp)
		return
	}
	if a.Exact {
		leaveBare(a)
	}
}

// jumps tells whether a blob only leads from a call to a method, and never has a frame.
func (r *Runtime) jumps(b *blob) bool {
	switch r.blobName(b) {
	case "I2C/C2I adapters", "vtable chunks", "MethodHandles adapters":
		return true
	}
	return false
}
