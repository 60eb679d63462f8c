package perl

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/interp"
)

// eval is an eval that a walk has met. Where C code has called Perl, an eval begins a loop
// of its own, so that what dies comes to it (docatch in pp_ctl.c). It then has a JMPENV
// of its own, which is on the C stack.
type eval struct {
	call int    // its index; -1: there is none
	env  uint64 // the JMPENV that was the innermost as it began
	byC  bool   // it is that of call_sv() with G_EVAL
}

// evalOf reads a context of an eval; cur_top_env is its last word.
func evalOf(context []byte, call int) eval {
	return eval{call, binary.LittleEndian.Uint64(context[len(context)-8:]), binary.LittleEndian.Uint64(context[contextReturn:]) == 0}
}

// outer says of an eval whether a loop began with it, by the next one further out. What
// call_sv() calls has a JMPENV that it made.
func (w *walker) outer(dst []interp.Call, inner, outer eval) {
	if inner.call < 0 || inner.env == outer.env {
		return
	}
	before, ok := w.read(inner.env)
	dst[inner.call].Entry = !ok || !outer.byC || before != outer.env
}

// outermost says the same of the outermost eval. That of the program is the second of all.
func (w *walker) outermost(dst []interp.Call, inner eval) {
	if inner.call < 0 {
		return
	}
	before, ok := w.read(inner.env)
	if ok && before != 0 {
		before, ok = w.read(before)
	}
	dst[inner.call].Entry = !ok || before != 0
}
