package hotspot

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// unmounted stands in a chain for the frames of a virtual thread that are not on a stack. They
// moved to the heap when the thread waited. Each comes back when the function it called
// returns.
const unmounted = "[frames in the heap]"

// stub appends a stub's frame and leaves it.
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

// ofContinuations reports whether a blob has the stubs that bring frames back from the heap,
// going by its name. They run when a virtual thread continues, or returns to a frame in the
// heap. Chains lead through them only then.
func ofContinuations(name string) bool {
	return name == "StubRoutines (continuation stubs)" || name == "StubRoutines (continuationstubs)"
}

// maxEntry bounds, in words, how far the frame of Continuation.enterSpecial extends above the
// stubs' stack pointer. It holds a ContinuationEntry; arguments of a callee may lie below it.
const maxEntry = 64

// leaveContinuation leaves these stubs together with Continuation.enterSpecial. While frames
// are being brought back, the frame pointer is enterSpecial's. When a frame returns that was
// brought back earlier, the frame pointer may be any number. Then no word below enterSpecial's
// return address is the address of code.
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
