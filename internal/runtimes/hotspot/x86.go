package hotspot

import (
	"bytes"
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/arch"
)

// entryAMD64 implements machine.entry.
func entryAMD64(code []byte, addr uint64) (entry, bool) {
	makesFrame := []byte{0x55, 0x48, 0x8b, 0xec} // push %rbp; mov %rsp,%rbp
	made := bytes.Index(code, makesFrame)
	framed := addr + uint64(made+len(makesFrame))
	return entry{begin: addr, framed: framed, whole: framed}, made >= 0
}

// partialAMD64 implements machine.partial. While the frame is being made, rbx holds the Method
// and r13 the caller's stack pointer.
func partialAMD64(r *Runtime, a *callchain.Activation) (p partial, ok bool) {
	p.method, _ = a.Register(arch.RBX.DWARF)
	sp, sent := a.Register(arch.R13.DWARF)
	switch e := r.interpreter.entryAt(a.PC); {
	case e != nil:
		p.fp = a.FP
		p.pc, p.known = a.Word(a.SP)
		if _, in := r.heapOf(p.pc); !in {
			p.pc, p.known = a.Register(arch.RAX.DWARF)
		}
		if p.sp = a.SP + 8; sent && sp > a.SP && sp <= a.SP+maxArguments {
			p.sp = sp
		}
	case a.FP-slotMethod < a.SP && a.FP >= a.SP:
		var known bool
		p.fp, known = a.Word(a.FP)
		p.pc, p.known = a.Word(a.FP + 8)
		p.known = p.known && known
		if p.sp = a.FP + 16; sent && sp > a.FP && sp <= a.FP+16+maxArguments {
			p.sp = sp
		}
	default:
		return leftAMD64(r, a)
	}
	return p, true
}

// leftAMD64 is partialAMD64 for a thread that has left its frame. Then rsi holds the return
// address, and rbx the caller's stack pointer.
func leftAMD64(r *Runtime, a *callchain.Activation) (p partial, ok bool) {
	// pop %rsi; mov %rbx,%rsp; jmp *%rsi
	leaving := []byte{0x5e, 0x48, 0x8b, 0xe3, 0xff, 0xe6}
	code := r.interpreter.code[a.PC-r.interpreter.low:]
	pc, known := a.Register(arch.RSI.DWARF)
	sp, sent := a.Register(arch.RBX.DWARF)
	switch {
	case bytes.HasPrefix(code, leaving):
		pc, known = a.Word(a.SP)
	case bytes.HasPrefix(code, leaving[1:]):
	case bytes.HasPrefix(code, leaving[4:]):
		sp, sent = a.SP, true
	default:
		return partial{}, false
	}
	return partial{pc: pc, sp: sp, fp: a.FP, known: known && sent && a.Executable(pc-1)}, true
}

// leafAMD64 implements machine.leaf.
func leafAMD64(code []byte, offset, complete int, frame uint64) (s shape, below uint64) {
	if offset < complete {
		s = making(piece(code, offset, min(complete-offset, maxPrologue)), frame)
	} else {
		s = shapeOf(piece(code, offset, codeAhead))
	}
	switch s {
	case bare:
		return bare, 8
	case pushed:
		return pushed, 16
	case unsaved:
		return bare, frame
	}
	return whole, frame
}

// stubAMD64 implements machine.stub.
func stubAMD64(code []byte, offset int, adapts bool) (s shape, below uint64) {
	code = piece(code, offset, 4)
	switch {
	case code[0] == 0xc3, code[0] == 0x55, adapts: // ret, push %rbp
		return bare, 8
	case bytes.HasPrefix(code, []byte{0x48, 0x8b, 0xec}), code[0] == 0x5d: // mov %rsp,%rbp; pop %rbp
		return pushed, 16
	}
	return framed, 0
}

// unsaved is a shape that only amd64 has: the frame has its full size, but the caller's frame
// pointer is still in its register.
const unsaved = moved + 1

const (
	codeAhead   = 32  // bytes of instructions to examine
	maxPrologue = 512 // the same, while the frame is being made
)

// making returns the shape of a frame before code, which ends where the frame is complete. The
// frame is whole if code does not contain the instructions that make it. A barrier may follow
// them. A check of the receiver's class precedes them.
func making(code []byte, frame uint64) shape {
	starts := func(with ...byte) bool { return bytes.HasPrefix(code, with) }
	switch {
	case starts(0x48, 0x89, 0x6c, 0x24), starts(0x48, 0x89, 0xac, 0x24): // mov %rbp,n(%rsp)
		return unsaved
	case starts(0x48, 0x8b, 0xec), starts(0x48, 0x89, 0xe5): // mov %rsp,%rbp
		return pushed
	}
	if frame <= 16 {
		if bytes.IndexByte(code, 0x55) >= 0 { // push %rbp is all
			return bare
		}
		return whole
	}
	switch after := subtracts(code, frame-16); {
	case after == 0:
		return pushed
	case after > 0, subtracts(code, frame-8) >= 0: // the second form saves the frame pointer with mov
		return bare
	}
	return whole
}

// subtracts returns the index of the instruction that makes room for a frame: sub $n,%rsp, in
// one of its two encodings. It is negative if there is none.
func subtracts(code []byte, n uint64) int {
	at := bytes.Index(code, binary.LittleEndian.AppendUint32([]byte{0x48, 0x81, 0xec}, uint32(n)))
	if at < 0 && n < 128 {
		at = bytes.Index(code, []byte{0x48, 0x83, 0xec, byte(n)})
	}
	return at
}

// shapeOf returns the shape of a frame at code, which is after the frame was made.
func shapeOf(code []byte) shape {
	is := func(offset int, bytes ...byte) bool {
		for i, b := range bytes {
			if code[offset+i] != b {
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
	}
	// A safepoint poll comes between the end of the frame and the return.
	for _, poll := range []struct {
		code   []byte
		length int
	}{
		{[]byte{0x49, 0x3b, 0x67}, 4}, // cmp n(%r15),%rsp
		{[]byte{0x49, 0x3b, 0xa7}, 7}, // the same, with a larger offset
		{[]byte{0x0f, 0x87}, 6},       // ja
		{[]byte{0x41, 0x85, 0x02}, 3}, // test %eax,(%r10)
		{[]byte{0x85, 0x05}, 6},       // test %eax,n(%rip)
		{[]byte{0x4d, 0x8b, 0x57}, 4}, // mov n(%r15),%r10
		{[]byte{0x4d, 0x8b, 0x97}, 7}, // the same, with a larger offset
		{[]byte{0xc5, 0xf8, 0x77}, 3}, // vzeroupper
	} {
		if is(0, poll.code...) && endsSoon(code[poll.length:]) {
			return bare
		}
	}
	return whole
}

// endsSoon reports whether code only polls and then returns.
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
