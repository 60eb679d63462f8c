package perl

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// Offsets and sizes, in bytes, that are the same in all releases.
const (
	currentOp = 8 // PerlInterpreter: PL_op

	infoContexts = 8 // PERL_SI: si_cxstack, si_prev, si_cxix
	infoBack     = 16
	infoTop      = 32
	infoSize     = 36

	contextCaller = 16 // PERL_CONTEXT: blk_oldcop, blk_sub.retop; the type is its first byte
	contextReturn = 48
)

// The types of contexts that are calls, and their flags (cop.h).
const (
	typeMask = 15
	isSub    = 9
	isFormat = 10
	isEval   = 11
	fake     = 0x80 // on a sub: code in a pattern; on an eval: try of try/catch
)

// Values of Call.Code for calls without a function.
const (
	evaluated = 1
	program   = 2
)

// Bounds: contexts of a PERL_SI; contexts per read; contexts and PERL_SIs per walk.
const (
	maxContexts = 1 << 20
	atOnce      = 16
	maxSteps    = 1 << 16
)

// walker is the work space of walks.
type walker struct {
	*perl    // uses only fields that do not change
	memory   interp.Memory
	word     [8]byte
	info     [infoSize]byte
	contexts []byte
}

// Walker implements interp.Runtime.
func (r *perl) Walker(m interp.Memory) interp.Walker {
	return &walker{perl: r, memory: interp.MemoryOr(m, r.memory), contexts: make([]byte, atOnce*r.contextSize)}
}

// Walk implements interp.Walker. Call.At and Call.Cookie hold a place.
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
		for n := top + 1; n > 0; { // the last context is the innermost
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

// place is a position in a function: the COP of the statement that started last, and an OP. In
// the innermost function, op is the OP that runs, with the bit runsNow. In a caller it is the
// OP that runs next, or 0 if there is none.
type place struct{ cop, op uint64 }

// runsNow is a bit that is never set in an OP's address.
const runsNow = 1

// of returns c at the place p.
func (p place) of(c interp.Call) interp.Call {
	c.At, c.Cookie = p.cop, p.op
	return c
}

// call returns the call of a context, and its caller's place. ok is false if the context is not
// a call. A function that returns to no OP was called from C.
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

func (w *walker) read(addr uint64) (uint64, bool) {
	if !w.memory.Read(addr, w.word[:]) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(w.word[:]), true
}
