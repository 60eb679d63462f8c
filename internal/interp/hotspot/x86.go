package hotspot

import (
	"bytes"
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
)

// The columns of registers (System V psABI of amd64, 3.6.2) that the interpreter uses.
const (
	columnRAX = 0
	columnRBX = 3  // the Method, while the frame is made; the caller's stack pointer, when it is gone
	columnRSI = 4  // where to return, when it is gone
	columnR13 = 13 // the bytecode that runs; while the frame is made, the caller's stack pointer
)

// entryAMD64 is machine.entry.
func entryAMD64(code []byte, at uint64) (entry, bool) {
	makesFrame := []byte{0x55, 0x48, 0x8b, 0xec} // push %rbp; mov %rsp,%rbp
	made := bytes.Index(code, makesFrame)
	framed := at + uint64(made+len(makesFrame))
	return entry{begin: at, framed: framed, whole: framed}, made >= 0
}

// partialAMD64 is machine.partial.
func partialAMD64(r *Runtime, a *callchain.Activation) (p partial, ok bool) {
	p.method, _ = a.Register(columnRBX)
	sp, sent := a.Register(columnR13)
	switch e := r.interpreter.entryAt(a.PC); {
	case e != nil:
		p.fp = a.FP
		p.pc, p.known = a.Word(a.SP)
		if _, in := r.heapOf(p.pc); !in {
			p.pc, p.known = a.Register(columnRAX)
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

// leftAMD64 is partialAMD64 for a thread that has left its frame.
func leftAMD64(r *Runtime, a *callchain.Activation) (p partial, ok bool) {
	// pop %rsi; mov %rbx,%rsp; jmp *%rsi
	leaving := []byte{0x5e, 0x48, 0x8b, 0xe3, 0xff, 0xe6}
	code := r.interpreter.code[a.PC-r.interpreter.low:]
	pc, known := a.Register(columnRSI)
	sp, sent := a.Register(columnRBX)
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

// leafAMD64 is machine.leaf.
func leafAMD64(code []byte, at, complete int, frame uint64) (of shape, below uint64) {
	if at < complete {
		of = making(piece(code, at, min(complete-at, maxPrologue)), frame)
	} else {
		of = shapeOf(piece(code, at, codeAhead))
	}
	switch of {
	case bare:
		return bare, 8
	case pushed:
		return pushed, 16
	case unsaved:
		return bare, frame
	}
	return whole, frame
}

// stubAMD64 is machine.stub.
func stubAMD64(code []byte, at int, adapts bool) (of shape, below uint64) {
	code = piece(code, at, 4)
	switch {
	case code[0] == 0xc3, code[0] == 0x55, adapts: // ret, push %rbp
		return bare, 8
	case bytes.HasPrefix(code, []byte{0x48, 0x8b, 0xec}), code[0] == 0x5d: // mov %rsp,%rbp; pop %rbp
		return pushed, 16
	}
	return framed, 0
}

// unsaved is a shape of amd64 alone: the frame is as large as it will be, and the caller's frame pointer
// still in its register.
const unsaved = moved + 1

const (
	codeAhead   = 32  // how many bytes of instructions are looked at
	maxPrologue = 512 // the same, where the frame is made
)

// making tells how much of a frame of a size there is before instructions that end where it is
// complete. It is so when the instructions that make it are behind: a barrier may follow them,
// and a check of the receiver's class precedes them.
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
	case after > 0, subtracts(code, frame-8) >= 0: // the latter saves the frame pointer by mov
		return bare
	}
	return whole
}

// subtracts is where code makes room for a frame: sub $n,%rsp, in one of its two encodings. It is
// negative if it does not.
func subtracts(code []byte, n uint64) int {
	at := bytes.Index(code, binary.LittleEndian.AppendUint32([]byte{0x48, 0x81, 0xec}, uint32(n)))
	if at < 0 && n < 128 {
		at = bytes.Index(code, []byte{0x48, 0x83, 0xec, byte(n)})
	}
	return at
}

// shapeOf tells from the instructions at a place behind the frame's making how much of the frame
// there is.
func shapeOf(code []byte) shape {
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
