package v8

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// effect is what an instruction does to its function's frame.
type effect uint8

const (
	none  effect = iota
	makes        // sets the frame pointer
	loads        // loads the caller's frame pointer
	calls        // calls, or removes the frame: so there is a frame
	goes         // leaves for good: the code after it is reached from elsewhere
)

// flow is what is known about the frame at a place of code.
type flow struct {
	of    shape // perhaps: unknown
	below uint64
	known bool
}

// shapeARM64 implements machine.shapeAt. Before the frame is made and after it is removed, the
// frame pointer is the caller's and x30 holds the return address. So shapeARM64 follows the
// code from the function's start, or from the start of code, and looks for the place where the
// frame is made.
func shapeARM64(code []byte, offset int, behind uint64) (s shape, below uint64) {
	reached := make([]flow, len(code)/4) // by jumps
	i, now := 0, flow{of: perhaps}
	if behind <= uint64(offset) {
		i, now.of = offset-int(behind), before
	}
	here := now
	for ; i+4 <= len(code); i += 4 {
		if i == offset {
			here = now
		}
		w := binary.LittleEndian.Uint32(code[i:])
		e := effectOf(w)
		switch {
		case i < offset:
		case here.of == whole:
			return whole, 0
		case here.of == after:
			return after, popped(code[offset:])
		case e == makes:
			return here.of, here.below
		case e == loads, e == calls:
			return whole, 0
		}
		switch e {
		case makes, calls:
			now = flow{of: whole}
		case loads:
			now = flow{of: after}
		case goes:
			now = flow{of: perhaps}
			if next := i/4 + 1; next < len(reached) && reached[next].known {
				now = reached[next]
			} else if i >= offset {
				return whole, 0
			}
		default:
			now.below -= interp.MovesARM64(w)
		}
		words, _ := interp.ConditionalARM64(w)
		if to := i/4 + int(words); to > i/4 && to < len(reached) {
			reached[to] = flow{now.of, now.below, true}
		}
	}
	return whole, 0
}

// popped returns how many bytes code pops before it returns.
func popped(code []byte) (n uint64) {
	for ; len(code) >= 4; code = code[4:] {
		w := binary.LittleEndian.Uint32(code)
		if effectOf(w) == goes {
			break
		}
		n += interp.MovesARM64(w)
	}
	return n
}

func effectOf(w uint32) effect {
	switch {
	case w&0xffc003ff == 0x910003fd: // add x29, sp, #n; mov x29, sp
		return makes
	case w&0xfe407fff == 0xa8407bfd: // ldp x29, x30, [sp…
		return loads
	case w == 0x910003bf: // mov sp, x29
		return calls
	case w>>26 == 0b100101, w&0xfffffc1f == 0xd63f0000: // bl, blr
		return calls
	case w>>26 == 0b000101, w&0xfffffc1f == 0xd61f0000, w&0xfffffc1f == 0xd65f0000, w&^0x400 == 0xd65f0bff, w&0xffe0001f == 0xd4200000: // b, br, ret, retaa, retab, brk
		return goes
	}
	return none
}
