package ruby

import (
	"fmt"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/object/callframe"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// compiled knows the native frame of YJIT's code. Ruby enters the code by a call with the
// execution context and the control frame as arguments. The code saves three registers. It
// jumps to other compiled methods, and so has one frame for all of them, without unwind
// information.
type compiled struct {
	module  *interp.Module
	frames  *callframe.Section
	object  callchain.ObjectID // the memory without a file that holds the code; 0: not seen yet
	returns map[uint64]bool    // for addresses in the module: whether compiled code may return there
}

// Bounds: words between the stack pointer and the return address (saved registers and call
// arguments); cached addresses.
const (
	maxSaved   = 16
	maxReturns = 1 << 10
)

func newCompiled(m *interp.Module) (compiled, error) {
	frames, err := callframe.EHFrame(m.Image)
	if err != nil || frames == nil {
		return compiled{}, fmt.Errorf("the tables of its functions can't be read: %w", err)
	}
	return compiled{module: m, frames: frames, returns: make(map[uint64]bool)}, nil
}

// Step implements interp.Compiler. The return address is the first word that points into the
// middle of one of Ruby's own functions. The words before it are objects and data addresses.
func (r *ruby) Step(a *callchain.Activation) {
	if !a.Generated {
		return
	}
	c := &r.compiled
	for at := a.SP; at < a.SP+8*maxSaved; at += 8 {
		pc, ok := a.Word(at)
		if !ok {
			return
		}
		if !c.isReturn(pc) {
			continue
		}
		fp := a.FP
		if fp == at-8 { // since 3.2 the code starts with a frame record
			if fp, ok = a.Word(fp); !ok {
				return
			}
		}
		c.object = a.Place.Object
		a.Leave(pc, at+8, fp)
		return
	}
}

// Compiled implements interp.Compiler.
func (r *ruby) Compiled(f callchain.Frame) bool {
	return r.compiled.object != 0 && f.Object == r.compiled.object
}

// isReturn reports whether an address is in a function of the module, but not at its start.
func (c *compiled) isReturn(pc uint64) bool {
	at := pc - c.module.Bias
	if is, ok := c.returns[at]; ok || !c.module.Image.Executable(at) {
		return is
	}
	start, _, ok := c.frames.FunctionStart(at)
	if len(c.returns) >= maxReturns {
		clear(c.returns)
	}
	is := ok && start != at
	c.returns[at] = is
	return is
}
