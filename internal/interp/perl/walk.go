package perl

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
)

// The structures that are the same in all releases, in bytes.
const (
	currentOp = 8 // PerlInterpreter: PL_op

	infoContexts = 8 // PERL_SI: si_cxstack, si_prev, si_cxix
	infoBack     = 16
	infoTop      = 32
	infoSize     = 36

	contextCaller = 16 // PERL_CONTEXT: blk_oldcop, blk_sub.retop; its type is the first byte
	contextReturn = 48
)

// The types of contexts that are calls, and flags of them (cop.h).
const (
	typeMask = 15
	isSub    = 9
	isFormat = 10
	isEval   = 11
	fake     = 0x80 // code within a pattern, if it is a sub; try of try/catch, if it is an eval
)

// What Call.Code is of calls that are of no function.
const (
	evaluated = 1
	program   = 2
)

// Bounds: contexts of a PERL_SI, contexts that are read at once, contexts and PERL_SIs of
// a walk.
const (
	maxContexts = 1 << 20
	atOnce      = 16
	maxSteps    = 1 << 16
)

// walker is the space that walks take place in.
type walker struct {
	*perl    // of which it uses what does not change
	memory   interp.Memory
	word     [8]byte
	info     [infoSize]byte
	contexts []byte
}

// Walker is of interp.Runtime.
func (r *perl) Walker(m interp.Memory) interp.Walker {
	return &walker{perl: r, memory: interp.MemoryOr(m, r.memory), contexts: make([]byte, atOnce*r.contextSize)}
}

// Walk is of interp.Walker. Call.At and Call.Cookie are a place.
func (w *walker) Walk(dst []interp.Call, t *interp.Thread) ([]interp.Call, callchain.End) {
	if t.TID != w.tid {
		return dst, callchain.Complete
	}
	me, ok := w.read(w.head)
	if !ok {
		return dst, callchain.Lost
	}
	if me == 0 {
		return dst, callchain.Complete
	}
	var runs place
	if runs.cop, ok = w.read(me + w.curcop); !ok {
		return dst, callchain.Lost
	}
	if runs.op, ok = w.read(me + currentOp); !ok {
		return dst, callchain.Lost
	}
	runs.op |= runsNow
	info, ok := w.read(me + w.curstackinfo)
	if !ok {
		return dst, callchain.Lost
	}
	inner := eval{call: -1}
	steps := maxSteps
	for info != 0 {
		if !w.memory.Read(info, w.info[:]) {
			return dst, callchain.Lost
		}
		top := int64(int32(binary.LittleEndian.Uint32(w.info[infoTop:])))
		base := binary.LittleEndian.Uint64(w.info[infoContexts:])
		info = binary.LittleEndian.Uint64(w.info[infoBack:])
		if top >= maxContexts {
			return dst, callchain.Lost
		}
		for n := top + 1; n > 0; { // the last of them is the innermost
			some := min(n, atOnce)
			n -= some
			b := w.contexts[:uint64(some)*w.contextSize]
			if !w.memory.Read(base+uint64(n)*w.contextSize, b) {
				return dst, callchain.Lost
			}
			if steps -= int(some); steps < 0 {
				return dst, callchain.Cut
			}
			for i := some - 1; i >= 0; i-- {
				call, caller, ok := w.call(b[uint64(i)*w.contextSize:])
				if !ok {
					continue
				}
				if len(dst) == cap(dst) {
					return dst, callchain.Cut
				}
				dst = append(dst, runs.of(call))
				runs = caller
				if call.Code == evaluated {
					e := evalOf(b[uint64(i)*w.contextSize:][:w.contextSize], len(dst)-1)
					w.outer(dst, inner, e)
					inner = e
				}
			}
		}
		if steps--; steps < 0 {
			return dst, callchain.Cut
		}
	}
	if len(dst) == cap(dst) {
		return dst, callchain.Cut
	}
	w.outermost(dst, inner)
	return append(dst, runs.of(interp.Call{Code: program, Entry: true})), callchain.Complete
}

// place is where a function is: at the COP whose statement began last, and at an OP. Of
// the innermost it is the one that runs, with runsNow; of a caller the one that will run
// next, 0 if there is none.
type place struct{ cop, op uint64 }

// runsNow is a bit that no address of an OP has.
const runsNow = 1

// of is a call at the place.
func (p place) of(c interp.Call) interp.Call {
	c.At, c.Cookie = p.cop, p.op
	return c
}

// call is what a context says of a call and its caller, false if it is none. A function that
// returns to no OP was called from C.
func (w *walker) call(b []byte) (c interp.Call, caller place, ok bool) {
	caller = place{binary.LittleEndian.Uint64(b[contextCaller:]), binary.LittleEndian.Uint64(b[contextReturn:])}
	switch kind := b[0] & typeMask; {
	case b[0]&fake != 0:
		return c, caller, false
	case kind == isSub, kind == isFormat:
		c.Code = binary.LittleEndian.Uint64(b[w.contextCV:])
		c.Entry = caller.op == 0
	case kind == isEval:
		c.Code = evaluated
	default:
		return c, caller, false
	}
	return c, caller, true
}

// read reads a word.
func (w *walker) read(addr uint64) (uint64, bool) {
	if !w.memory.Read(addr, w.word[:]) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(w.word[:]), true
}
