package ruby

import (
	"fmt"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/callframe"
	"github.com/ringtap/ringtap/internal/interp"
)

// compiled knows the native frame of code that YJIT has made. Ruby enters it by a call, with the
// execution context and the control frame as its arguments, and it saves three registers. Its calls of
// other compiled methods are jumps, and so it has one frame for all methods, with no unwind information.
type compiled struct {
	module  *interp.Module
	frames  *callframe.Section
	object  callchain.ObjectID // of memory without a file, where the code is; 0: none was seen yet
	returns map[uint64]bool    // places in the module, whether code may return there
}

// Bounds: the words between the stack pointer and the return address, which are what the code has saved and
// arguments of a call; the places that are remembered.
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

// Step is of interp.Compiler. The first word that leads to the middle of a function of Ruby's own is the
// return address: what lies before it are objects and addresses of data.
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
		if fp == at-8 { // since 3.2 the code begins with a frame record
			if fp, ok = a.Word(fp); !ok {
				return
			}
		}
		c.object = a.Place.Object
		a.Leave(pc, at+8, fp)
		return
	}
}

// Compiled is of interp.Compiler.
func (r *ruby) Compiled(f callchain.Frame) bool {
	return r.compiled.object != 0 && f.Object == r.compiled.object
}

// isReturn tells whether an address is in a function of the module and not the function's own.
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
