package v8

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/interp"
)

// effect is what an instruction does to the frame of its function.
type effect uint8

const (
	none  effect = iota
	makes        // sets the frame pointer
	loads        // loads the caller's
	calls        // or takes the frame off the stack: there is one
	goes         // for good, so that what follows is reached from elsewhere
)

// flow is what is known where code can be reached.
type flow struct {
	of    shape // perhaps: nothing is known
	below uint64
	known bool
}

// shapeARM64 is machine.shapeAt. Until the frame is made and from its end on, the frame
// pointer is the caller's and x30 has the return address. So it follows the code from the
// function's begin, or as far before the place as there is some, to where the frame is made.
func shapeARM64(code []byte, at int, behind uint64) (of shape, below uint64) {
	reached := make([]flow, len(code)/4) // by jumps to there
	i, now := 0, flow{of: perhaps}
	if behind <= uint64(at) {
		i, now.of = at-int(behind), before
	}
	here := now
	for ; i+4 <= len(code); i += 4 {
		if i == at {
			here = now
		}
		w := binary.LittleEndian.Uint32(code[i:])
		e := effectOf(w)
		switch {
		case i < at:
		case here.of == whole:
			return whole, 0
		case here.of == after:
			return after, popped(code[at:])
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
			} else if i >= at {
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

// popped is how much code takes off the stack until it returns.
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
