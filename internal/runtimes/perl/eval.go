package perl

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// eval is an eval that a walk has found. If C code called Perl, an eval starts its own loop, so
// that die returns to it (docatch in pp_ctl.c). It then has its own JMPENV, on the C stack.
type eval struct {
	call int    // index of its call; -1: none
	env  uint64 // the innermost JMPENV when it started
	byC  bool   // it belongs to call_sv() with G_EVAL
}

// evalOf reads the context of an eval. cur_top_env is the context's last word.
func evalOf(context []byte, call int) eval {
	return eval{call, binary.LittleEndian.Uint64(context[len(context)-8:]), binary.LittleEndian.Uint64(context[contextReturn:]) == 0}
}

// outer finds out whether a loop started with the eval inner. It compares inner's JMPENV with
// that of the next eval further out. Code called by call_sv() has a JMPENV made by call_sv().
func (w *walker) outer(dst []interp.Call, inner, outer eval) {
	if inner.call < 0 || inner.env == outer.env {
		return
	}
	before, ok := w.read(inner.env)
	dst[inner.call].Entry = !ok || !outer.byC || before != outer.env
}

// outermost does the same for the outermost eval. The program's JMPENV is the second of all.
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
