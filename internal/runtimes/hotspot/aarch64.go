package hotspot

import (
	"bytes"
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// aligns is the alignment of the stack pointer, in bytes.
const aligns = 16

// effect is what an instruction does to its function's frame.
type effect uint8

const (
	none   effect = iota
	stores        // the caller's frame pointer and the return address
	points        // sets the frame pointer
	loads         // the caller's frame pointer and the return address
	calls
	goes // leaves for good: the code after it is reached from elsewhere
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

// instruction returns the instruction at an offset in code, or 0 if the offset is outside.
func instruction(code []byte, offset int) uint32 {
	if offset < 0 || offset+4 > len(code) {
		return 0
	}
	return binary.LittleEndian.Uint32(code[offset:])
}

// ended reports whether the instructions just before offset have loaded the caller's frame
// pointer and the return address for good.
func ended(code []byte, offset, begin int) bool {
	const most = 12 // at the end of a frame there is at most a safepoint poll
	for i := offset - 4; i >= begin && i >= offset-4*most; i -= 4 {
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

// follow follows code from offset until an instruction has an effect on the frame. It does not
// take conditional branches. It returns the effect, the instruction, and by how many bytes the
// path before it moves the stack pointer.
func follow(code []byte, offset int) (e effect, w uint32, moves uint64) {
	const most = 1 << 12
	for range most {
		if w = instruction(code, offset); w == 0 {
			break
		}
		e = effectOf(w)
		switch {
		case w>>26 == 0b000101: // b
			to := offset + int(int32(w<<6)>>6)*4
			if to < 0 || to >= len(code) {
				return goes, w, moves
			}
			offset = to
			continue
		case e != none, setsSender(w):
			return e, w, moves
		}
		moves += interp.MovesARM64(w)
		offset += 4
	}
	return none, 0, moves
}

// setsSender reports whether an instruction saves the stack pointer for the interpreter, before
// arguments are pushed: mov x13, sp or mov x19, sp.
func setsSender(w uint32) bool { return w == 0x910003ed || w == 0x910003f3 }

// leafARM64 implements machine.leaf.
func leafARM64(code []byte, offset, complete int, frame uint64) (s shape, below uint64) {
	switch {
	case complete == 0:
		return runtimeStub(code, offset, frame)
	case offset < complete:
		return makingARM64(code[:min(complete, len(code))], offset, frame)
	case instruction(code, offset) == popsFrame:
		return pushed, 16
	case ended(code, offset, complete):
		return bare, popped(code, offset)
	}
	return whole, frame
}

// markARM64 implements machine.mark. JDK 11's code pushes the address it calls from
// (aarch64_enc_java_to_runtime in src/hotspot/cpu/aarch64/aarch64.ad). JDK 17's code does not.
func markARM64(code []byte, offset int) uint64 {
	const leaves, calls, takes = 0xa9bf27ff, 0xd63f0100, 0x910043ff // stp xzr, x9, [sp, #-16]!; blr x8; add sp, sp, #16
	for _, call := range []int{offset, offset - 4} {
		if instruction(code, call-4) == leaves && instruction(code, call) == calls && instruction(code, call+4) == takes {
			return 16
		}
	}
	return 0
}

// makingARM64 returns the shape of a frame at offset, and how many bytes the stack pointer is
// below the caller's. code ends where the frame is complete.
func makingARM64(code []byte, offset int, frame uint64) (s shape, below uint64) {
	s, left := whole, uint64(0)
	for ; offset+4 <= len(code); offset += 4 {
		w := instruction(code, offset)
		if effectOf(w) == stores {
			s = bare
		}
		if left -= interp.MovesARM64(w); w&0xffe0ffff == 0xcb2063ff { // sub sp, sp, xN: everything except these two words
			left += frame - 16
		}
	}
	if left > frame {
		return whole, frame
	}
	return s, frame - left
}

// popped returns how many bytes the code from offset on pops before it returns.
func popped(code []byte, offset int) (n uint64) {
	for ; effectOf(instruction(code, offset)) == none && offset < len(code); offset += 4 {
		n += interp.MovesARM64(instruction(code, offset))
	}
	return n
}

// runtimeStub is leafARM64 for a stub, which does not say where its frame is complete. A stub
// that sets the frame pointer does so in its first instructions.
func runtimeStub(code []byte, offset int, frame uint64) (s shape, below uint64) {
	const soon = 16
	for i := 0; i < 4*soon; i += 4 {
		if effectOf(instruction(code, i)) == points {
			return stubARM64(code, offset, false)
		}
	}
	switch e, w, moves := follow(code, offset); e {
	case stores:
		return bare, frame + moves + interp.MovesARM64(w)
	case goes:
		return bare, moves
	}
	return whole, frame
}

// stubARM64 implements machine.stub. Code without a frame returns before it loads one.
func stubARM64(code []byte, offset int, adapts bool) (s shape, below uint64) {
	e, w, moves := follow(code, offset)
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

// frameMakers are the first instructions of an interpreter frame (generate_fixed_frame in
// src/hotspot/cpu/aarch64/templateInterpreterGenerator_aarch64.cpp). They store the caller's
// frame pointer and the return address, set the frame pointer, and store the caller's stack
// pointer. The register of the latter depends on the release.
var frameMakers = []struct{ store, point, sender uint32 }{
	{0xa9057bfd, 0x910143fd, 0xa90403ff}, // stp x29, x30, [sp, #80]; add x29, sp, #80; stp xzr, xN, [sp, #64]
	{0xa9047bfd, 0x910103fd, 0xa90303ff}, // the same in JDK 8: [sp, #64]; #64; [sp, #48]
}

// entryARM64 implements machine.entry.
func entryARM64(code []byte, addr uint64) (entry, bool) {
	const soon = 16
	for _, m := range frameMakers {
		made := bytes.Index(code, binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, m.store), m.point))
		if made < 0 {
			continue
		}
		framed := made + 8
		for i := framed; i < framed+4*soon; i += 4 {
			if w := instruction(code, i); w&0xffff83ff == m.sender {
				return entry{addr, addr + uint64(framed), addr + uint64(i) + 4, uint8(w >> 10 & 31)}, true
			}
		}
	}
	return entry{}, false
}

// partialARM64 implements machine.partial. While the frame is being made, x12 holds the Method
// and entry.sender, a register that depends on the release, the caller's stack pointer. After
// the frame is gone, x20 holds the caller's stack pointer. Before, x20 is the top of the
// expression stack.
func partialARM64(r *Runtime, a *callchain.Activation) (p partial, ok bool) {
	if e := r.interpreter.entryAt(a.PC); e != nil {
		p.method, _ = a.Register(arch.X[12].DWARF)
		if a.PC < e.framed {
			p.pc, p.known = a.Register(arch.ARM64.LR.DWARF)
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
			p.pc, p.known = a.Register(arch.ARM64.LR.DWARF)
			p.fp = a.FP
		default:
			return partial{}, false
		}
		p.sp, _ = a.Register(arch.X[20].DWARF)
		p.sp = p.sp / aligns * aligns
	}
	p.pc &= r.machine.addresses
	if p.sp < a.SP || p.sp > a.SP+maxArguments {
		p.sp = a.SP
	}
	p.known = p.known && a.Executable(p.pc-1)
	return p, true
}

// take sets the caller to the one that the frame pointer leads to.
func (p *partial) take(m *machine, a *callchain.Activation) {
	var known bool
	p.pc, p.known = m.returns(a, a.FP+8)
	p.fp, known = a.Word(a.FP)
	p.known = p.known && known
}
