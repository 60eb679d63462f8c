package v8

import (
	"strings"

	"github.com/ringtap/ringtap/callchain"
)

// shape is how much of its frame code has.
type shape uint8

const (
	whole   shape = iota
	before        // it will make one
	perhaps       // the same, as far as the instructions tell
	pushed        // the caller's frame pointer lies on top
	after         // it has left it
)

// shapeOf tells from the instructions around an interrupted place how much of the frame
// there is, and how far the stack pointer is below the caller's if it is not whole. A handler
// has the frame of the function whose bytecode it is of.
func (r *Runtime) shapeOf(a *callchain.Activation, builtin string) (of shape, below uint64) {
	m := r.machine
	behind, c := a.PC, (*code)(nil)
	if a.Generated {
		if c = r.codeAt(a.PC); c != nil {
			behind = a.PC - c.start
			var first [baselineCall]byte
			if m.makesOutOfLine && behind <= baselineCall && r.heap.mem.Read(c.start, first[:]) && baselineBegins(first[:]) {
				return before, 8
			}
		}
	} else if begin, ok := r.builtins.begin(a.Place.Offset); ok {
		behind = a.Place.Offset - begin
	}
	of = perhaps // if the process has ended
	if code := make([]byte, m.behind+m.ahead); r.heap.mem.Read(a.PC-m.behind, code) {
		of, below = m.shapeAt(code, int(m.behind), behind)
	}
	switch {
	case of == perhaps && r.hasReturned(a, c):
		return whole, 0
	case of == perhaps:
		return before, below
	case of != pushed && strings.HasSuffix(builtin, handler):
		return whole, 0
	}
	return of, below
}

// hasReturned tells by the register for return addresses whether a function has a frame: a
// call that it made has returned, or the register has what lies in the frame.
func (r *Runtime) hasReturned(a *callchain.Activation, c *code) bool {
	pc, ok := r.machine.linked(a)
	framed, _ := a.Word(a.FP + 8)
	switch {
	case !ok, pc == framed:
		return true
	case c != nil:
		return c.start <= pc && pc < c.end
	}
	own, _ := r.builtins.begin(a.Place.Offset)
	begin, ok := r.builtins.begin(a.Place.Offset + pc - a.PC)
	return ok && begin == own
}
