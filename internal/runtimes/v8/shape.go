package v8

import (
	"strings"

	"github.com/ringtap/ringtap/callchain"
)

// shape says how much of its frame code has made.
type shape uint8

const (
	whole   shape = iota
	before        // not made yet
	perhaps       // the same, as far as the instructions show
	pushed        // the caller's frame pointer is on top of the stack
	after         // already left
)

// shapeOf returns the shape of the frame at an interrupted place, from the instructions around
// it. If the frame is not whole, below is how many bytes the stack pointer is below the
// caller's. A handler runs in the frame of the function whose bytecode it executes.
func (r *Runtime) shapeOf(a *callchain.Activation, builtin string) (s shape, below uint64) {
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
	s = perhaps // if the code can't be read: the process has ended
	if code := make([]byte, m.behind+m.ahead); r.heap.mem.Read(a.PC-m.behind, code) {
		s, below = m.shapeAt(code, int(m.behind), behind)
	}
	switch {
	case s == perhaps && r.hasReturned(a, c):
		return whole, 0
	case s == perhaps:
		return before, below
	case s != pushed && strings.HasSuffix(builtin, handler):
		return whole, 0
	}
	return s, below
}

// hasReturned reports whether a function has a frame, going by the link register. It has one if
// a call that it made has returned, or the register equals the return address in the frame.
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
