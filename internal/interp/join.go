package interp

import (
	"slices"

	"github.com/ringtap/ringtap/callchain"
)

// Chain is the calls of one runtime in a thread, leaf first.
type Chain struct {
	Runtime Runtime
	Calls   []Call

	next   int // the first that has no place yet
	skip   int // how many of the innermost loops have no call
	native int // how many of the innermost native frames are of its calls
}

// Entry is one level of a chain that is joined: a native frame, or a call.
type Entry struct {
	Native int    // index of the native frame; -1 for a call
	Chain  *Chain // of the call
	Call   Call
}

// Join puts the calls of runtimes where they belong in a thread's native chain, both
// leaf first, and appends the result to dst. A call with a PC replaces the native frame
// with that address. The other calls replace the frames of their runtime's loop: each of
// them those up to and including the next Entry, and the frame of a function that is a
// part of the loop goes with it, as do those of code that it has compiled and of what calls that. Calls that are left of a truncated native chain come last: they
// belong to the part of it that is missing.
//
// In a chain that is whole, the outermost calls belong to the outermost loops. Where there is one
// loop more than there are calls for, the innermost one has just begun, or is about to end: it
// stays what it is. Else the two do not fit, as Join reports: innermost loops without calls stay
// what they are, and innermost calls without a loop, which have ended, are left out.
//
// The calls of a Switcher belong to the loops inside its last switch alone. What is further out stays
// what it is, whole or not. Where a switch is under way and the chain is not whole, it may be that of other
// calls, whose stack is being put back: it stays what it is.
func Join(dst []Entry, native []callchain.Frame, truncated bool, chains []Chain) (joined []Entry, fits bool) {
	fits = true
	for i := range chains {
		c := &chains[i]
		inside, switched, switching := c.inside(native)
		c.native = len(inside)
		if truncated && !switched && switching {
			c.next = len(c.Calls)
		}
		if truncated && !switched || slices.ContainsFunc(c.Calls, func(call Call) bool { return call.PC != 0 }) {
			continue
		}
		more := c.loops(inside) - c.entries()
		c.skip = max(0, more)
		fits = fits && (more == 0 || more == 1)
		for ; more < 0; c.next++ {
			if c.Calls[c.next].Entry || c.next+1 == len(c.Calls) {
				more++
			}
		}
	}
	handled := 0 // the frames before this one go with a loop
	for i, f := range native {
		handled = max(handled, i+handles(chains, native[i:]))
		if i < handled {
			continue
		}
		c, loop := whose(chains, i, f)
		if loop && c.skip > 0 {
			c.skip--
			dst = append(dst, Entry{Native: i})
			continue
		}
		if c == nil || loop && (c.next == len(c.Calls) || c.Calls[c.next].PC != 0) {
			fits = fits && c == nil
			dst = append(dst, Entry{Native: i})
			continue
		}
		for more := true; more; c.next++ {
			call := c.Calls[c.next]
			dst = append(dst, Entry{-1, c, call})
			more = loop && !call.Entry && c.next+1 < len(c.Calls) && c.Calls[c.next+1].PC == 0
		}
	}
	for i := range chains {
		c := &chains[i]
		for ; c.next < len(c.Calls); c.next++ {
			fits = fits && truncated
			dst = append(dst, Entry{-1, c, c.Calls[c.next]})
		}
	}
	return dst, fits
}

// compiles is what Join asks a Compiler. A Namer answers for one.
type compiles interface {
	Compiled(f callchain.Frame) bool
}

// maxBetween is how many native frames there are, at most, from compiled code to the loop that has called it.
const maxBetween = 3

// handles is how many of the innermost native frames go with the loop that has called them and that has calls:
// a part of the loop, or code that it has compiled.
func handles(chains []Chain, native []callchain.Frame) int {
	for i := range chains {
		c := &chains[i]
		if c.skip > 0 || c.next == len(c.Calls) {
			continue
		}
		between := 0
		if h, ok := c.Runtime.(Handlers); ok && h.Handler(native[0]) {
			between = 1
		}
		if r, ok := c.Runtime.(compiles); ok && r.Compiled(native[0]) {
			between = maxBetween
		}
		for n := 1; n <= between && n < len(native); n++ {
			if c.Runtime.Loop(native[n]) {
				return n
			}
		}
	}
	return 0
}

// loops is how many frames of its runtime's loop a native chain has.
func (c *Chain) loops(native []callchain.Frame) (n int) {
	for _, f := range native {
		if c.Runtime.Loop(f) {
			n++
		}
	}
	return n
}

// entries is how many loops the calls need.
func (c *Chain) entries() (n int) {
	for i := range c.Calls {
		if call := &c.Calls[i]; call.PC == 0 && (call.Entry || i+1 == len(c.Calls) || c.Calls[i+1].PC != 0) {
			n++
		}
	}
	return n
}

// inside is the native frames that a chain's calls may be in: all of them, or those inside the last
// switch to them. A switch to others, or back, may be under way.
func (c *Chain) inside(native []callchain.Frame) (frames []callchain.Frame, switched, switching bool) {
	s, ok := c.Runtime.(Switcher)
	if !ok {
		return native, false, false
	}
	loops := 0
	for i, f := range native {
		switch {
		case c.Runtime.Loop(f):
			loops++
		case !s.Switches(f):
		case loops == 0:
			switching = true
		case loops+1 >= c.entries():
			return native[:i], true, switching
		}
	}
	return native, false, switching
}

// whose returns the chain that has calls for a native frame, which has that number. It returns nil if
// no chain has any. loop tells whether the frame is an interpreter's loop.
func whose(chains []Chain, number int, f callchain.Frame) (c *Chain, loop bool) {
	for i := range chains {
		c := &chains[i]
		if number >= c.native {
			continue
		}
		if c.next < len(c.Calls) && c.Calls[c.next].PC != 0 && c.Calls[c.next].PC == f.PC() {
			return c, false
		}
		if c.Runtime.Loop(f) {
			return c, true
		}
	}
	return nil, false
}
