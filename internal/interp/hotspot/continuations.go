package hotspot

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
)

// unmounted stands in a chain for the frames of a virtual thread that are not on a stack. They went to
// the heap when it waited, and each comes back when what it has called returns.
const unmounted = "[frames in the heap]"

// stub appends a stub, and leaves it.
func (r *Runtime) stub(dst []interp.Level, b *blob, a *callchain.Activation) []interp.Level {
	name := r.blobName(b)
	dst = append(dst, interp.Level{Frame: interp.Frame{Function: name}, Offset: a.PC - b.code})
	if !ofContinuations(name) {
		r.leave(a, b)
		return dst
	}
	r.leaveContinuation(a)
	return append(dst, interp.Level{Frame: interp.Frame{Function: unmounted}})
}

// ofContinuations tells by its name whether a blob has the stubs that bring frames back from the heap,
// when a virtual thread goes on or a frame returns to one that is there. A chain leads through them just
// then.
func ofContinuations(name string) bool {
	return name == "StubRoutines (continuation stubs)" || name == "StubRoutines (continuationstubs)"
}

// maxEntry is how far above these stubs' stack pointer, in words, the frame of Continuation.enterSpecial
// may end: it holds a ContinuationEntry, and arguments for what was called may lie below it.
const maxEntry = 64

// leaveContinuation leaves these stubs, and with them Continuation.enterSpecial. While frames are brought
// back the frame pointer is that of enterSpecial. It may be any number when a frame returns that was brought
// back before; of what lies up to enterSpecial's return address then nothing is code.
func (r *Runtime) leaveContinuation(a *callchain.Activation) {
	if r.leaveFramed(a) {
		return
	}
	for at := a.SP; at < a.SP+8*maxEntry; at += 8 {
		pc, ok := r.machine.returns(a, at)
		if !ok {
			return
		}
		if _, in := r.heapOf(pc); !in {
			continue
		}
		if fp, ok := a.Word(at - 8); ok && a.Executable(pc-1) {
			a.Leave(pc, at+8, fp)
			return
		}
	}
}
