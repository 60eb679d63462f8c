package hotspot

import (
	"bytes"
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
)

// The columns of registers (DWARF for the Arm 64-bit Architecture, 4.1) that the interpreter uses. The
// caller's stack pointer is in another one in each release, while a frame is made.
const (
	columnX12 = 12 // the Method, while the frame is made
	columnX20 = 20 // the top of the expressions; the caller's stack pointer, when the frame is gone
	columnX30 = 30
)

// aligns is what the stack pointer is a multiple of.
const aligns = 16

// effect is what an instruction does to the frame of its function.
type effect uint8

const (
	none   effect = iota
	stores        // the caller's frame pointer and the return address
	points        // sets the frame pointer
	loads         // the caller's frame pointer and the return address
	calls
	goes // for good, so that what follows is reached from elsewhere
)

func effectOf(w uint32) effect {
	switch {
	case w&0xfe407fff == 0xa8007bfd: // stp x29, x30, [sp…
		return stores
	case w&0xffc003ff == 0x910003fd: // add x29, sp, #n; mov x29, sp
		return points
	case w&0xfe407fff == 0xa8407bfd, w == 0x910003bf: // ldp x29, x30, [sp…; mov sp, x29
		return loads
	case w>>26 == 0b100101, w&0xfffffc1f == 0xd63f0000: // bl, blr
		return calls
	case w>>26 == 0b000101, w&0xfffffc1f == 0xd61f0000, w&0xfffffc1f == 0xd65f0000, w&^0x400 == 0xd65f0bff, w&0xffe0001f == 0xd4200000: // b, br, ret, retaa, retab, brk
		return goes
	}
	return none
}

const popsFrame = 0xa8c17bfd // ldp x29, x30, [sp], #16

// instruction returns the instruction at a place of code; 0 if the place is not in the code.
func instruction(code []byte, at int) uint32 {
	if at < 0 || at+4 > len(code) {
		return 0
	}
	return binary.LittleEndian.Uint32(code[at:])
}

// ended tells whether a few instructions before a place have loaded the caller's frame pointer and the return
// address for good.
func ended(code []byte, at, begin int) bool {
	const most = 12 // a frame's end has a poll for a safepoint at most
	for i := at - 4; i >= begin && i >= at-4*most; i -= 4 {
		switch w := instruction(code, i); effectOf(w) {
		case loads:
			return w != 0x910003bf
		case none:
		default:
			return false
		}
	}
	return false
}

// follow goes from a place of code to where the path that does not branch off first does something to the
// frame. It returns what, and how far the path before that moves the stack pointer.
func follow(code []byte, at int) (e effect, w uint32, moves uint64) {
	const most = 1 << 12
	for range most {
		if w = instruction(code, at); w == 0 {
			break
		}
		e = effectOf(w)
		switch {
		case w>>26 == 0b000101: // b
			to := at + int(int32(w<<6)>>6)*4
			if to < 0 || to >= len(code) {
				return goes, w, moves
			}
			at = to
			continue
		case e != none, setsSender(w):
			return e, w, moves
		}
		moves += interp.MovesARM64(w)
		at += 4
	}
	return none, 0, moves
}

// setsSender tells whether an instruction keeps the stack pointer for the interpreter, before arguments are
// put on the stack: mov x13, sp or mov x19, sp.
func setsSender(w uint32) bool { return w == 0x910003ed || w == 0x910003f3 }

// leafARM64 is machine.leaf.
func leafARM64(code []byte, at, complete int, frame uint64) (of shape, below uint64) {
	switch {
	case complete == 0:
		return runtimeStub(code, at, frame)
	case at < complete:
		return makingARM64(code[:min(complete, len(code))], at, frame)
	case instruction(code, at) == popsFrame:
		return pushed, 16
	case ended(code, at, complete):
		return bare, popped(code, at)
	}
	return whole, frame
}

// markARM64 is machine.mark. Code of JDK 11 leaves where it calls from on the stack (aarch64_enc_java_to_runtime in
// src/hotspot/cpu/aarch64/aarch64.ad); that of JDK 17 does not.
func markARM64(code []byte, at int) uint64 {
	const leaves, calls, takes = 0xa9bf27ff, 0xd63f0100, 0x910043ff // stp xzr, x9, [sp, #-16]!; blr x8; add sp, sp, #16
	for _, call := range []int{at, at - 4} {
		if instruction(code, call-4) == leaves && instruction(code, call) == calls && instruction(code, call+4) == takes {
			return 16
		}
	}
	return 0
}

// makingARM64 tells how much of a frame of a size there is before instructions that end where it is complete.
func makingARM64(code []byte, at int, frame uint64) (of shape, below uint64) {
	of, left := whole, uint64(0)
	for ; at+4 <= len(code); at += 4 {
		w := instruction(code, at)
		if effectOf(w) == stores {
			of = bare
		}
		if left -= interp.MovesARM64(w); w&0xffe0ffff == 0xcb2063ff { // sub sp, sp, xN: all but these two words
			left += frame - 16
		}
	}
	if left > frame {
		return whole, frame
	}
	return of, frame - left
}

// popped is how much code takes off the stack until it returns.
func popped(code []byte, at int) (n uint64) {
	for ; effectOf(instruction(code, at)) == none && at < len(code); at += 4 {
		n += interp.MovesARM64(instruction(code, at))
	}
	return n
}

// runtimeStub is leafARM64 for a stub, which does not say where its frame is complete. If it sets the
// frame pointer it does so at once.
func runtimeStub(code []byte, at int, frame uint64) (of shape, below uint64) {
	const soon = 16
	for i := 0; i < 4*soon; i += 4 {
		if effectOf(instruction(code, i)) == points {
			return stubARM64(code, at, false)
		}
	}
	switch e, w, moves := follow(code, at); e {
	case stores:
		return bare, frame + moves + interp.MovesARM64(w)
	case goes:
		return bare, moves
	}
	return whole, frame
}

// stubARM64 is machine.stub. What has no frame returns before it loads one.
func stubARM64(code []byte, at int, adapts bool) (of shape, below uint64) {
	e, w, moves := follow(code, at)
	switch {
	case setsSender(w), e == stores:
		return bare, moves
	case e == points:
		return pushed, 16
	case e == goes && adapts:
		return moved, 0
	case e == goes:
		return bare, moves
	}
	return framed, 0
}

// frameMakers are how a frame of the interpreter begins (generate_fixed_frame in
// src/hotspot/cpu/aarch64/templateInterpreterGenerator_aarch64.cpp): the caller's frame pointer and the return address
// are stored, the frame pointer is set, and the caller's stack pointer follows, from a register of each release's own.
var frameMakers = []struct{ store, point, sender uint32 }{
	{0xa9057bfd, 0x910143fd, 0xa90403ff}, // stp x29, x30, [sp, #80]; add x29, sp, #80; stp xzr, xN, [sp, #64]
	{0xa9047bfd, 0x910103fd, 0xa90303ff}, // the same of JDK 8: [sp, #64]; #64; [sp, #48]
}

// entryARM64 is machine.entry.
func entryARM64(code []byte, at uint64) (entry, bool) {
	const soon = 16
	for _, m := range frameMakers {
		made := bytes.Index(code, binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, m.store), m.point))
		if made < 0 {
			continue
		}
		framed := made + 8
		for i := framed; i < framed+4*soon; i += 4 {
			if w := instruction(code, i); w&0xffff83ff == m.sender {
				return entry{at, at + uint64(framed), at + uint64(i) + 4, uint8(w >> 10 & 31)}, true
			}
		}
	}
	return entry{}, false
}

// partialARM64 is machine.partial.
func partialARM64(r *Runtime, a *callchain.Activation) (p partial, ok bool) {
	if e := r.interpreter.entryAt(a.PC); e != nil {
		p.method, _ = a.Register(columnX12)
		if a.PC < e.framed {
			p.pc, p.known = a.Register(columnX30)
			p.fp = a.FP
		} else {
			p.take(r.machine, a)
		}
		p.sp, _ = a.Register(e.sender)
	} else {
		code, at := r.interpreter.code, int(a.PC-r.interpreter.low)
		switch {
		case instruction(code, at) == popsFrame && a.SP == a.FP:
			p.take(r.machine, a)
		case ended(code, at, 0):
			p.pc, p.known = a.Register(columnX30)
			p.fp = a.FP
		default:
			return partial{}, false
		}
		p.sp, _ = a.Register(columnX20)
		p.sp = p.sp / aligns * aligns
	}
	p.pc &= r.machine.addresses
	if p.sp < a.SP || p.sp > a.SP+maxArguments {
		p.sp = a.SP
	}
	p.known = p.known && a.Executable(p.pc-1)
	return p, true
}

// take has the caller be the one that the frame pointer leads to.
func (p *partial) take(m *machine, a *callchain.Activation) {
	var known bool
	p.pc, p.known = m.returns(a, a.FP+8)
	p.fp, known = a.Word(a.FP)
	p.known = p.known && known
}
