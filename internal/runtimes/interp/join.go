package interp

import (
	"slices"

	"github.com/ringtap/ringtap/callchain"
)

// Chain holds the calls of one runtime in a thread, leaf first.
type Chain struct {
	Runtime Runtime
	Calls   []Call

	next   int // index of the first call not placed yet
	skip   int // how many of the innermost loops have no call
	native int // how many of the innermost native frames may be its calls
}

// Entry is one level of a joined chain: a native frame, or a call.
type Entry struct {
	Native int    // index of the native frame; -1 for a call
	Chain  *Chain // the call's chain
	Call   Call
}

// Join merges the calls of runtimes into a thread's native chain and appends the result to dst.
// native, the result and the Calls of each chain are leaf first.
//
// A call with a PC replaces the native frame with that PC. Calls without a PC run in a loop, the
// C function that interprets them (see Runtime.Loop). Join replaces each frame of a loop by the
// next calls without a PC, up to and including the next call with Entry. With it, Join drops the
// frames of the loop's parts (see Handlers), of compiled code, and between compiled code and the
// loop. If the native chain is truncated, the remaining calls come last: they belong to the
// missing frames.
//
// In a whole chain, the outermost calls belong to the outermost loops. There may be one loop more
// than the calls need: the innermost loop has just started or is about to end, and its native
// frame stays. Any other difference makes fits false. Innermost loops without calls then stay
// native frames. Innermost calls without a loop are left out, because they have ended.
//
// The calls of a Switcher, a runtime that can switch a thread to other calls, belong only to the
// loops inside the last switch. Frames further out stay native, even if the chain is whole. If a
// switch is under way in a truncated chain, the calls may belong to another stack that is being
// restored, so all frames stay native.
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
	handled := 0 // frames before this index belong to a loop
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

// compiles is the part of Compiler that Join needs. A Namer also implements it.
type compiles interface {
	Compiled(f callchain.Frame) bool
}

// maxBetween is the largest number of native frames from compiled code to the loop that called
// it.
const maxBetween = 3

// handles returns how many of the innermost frames of native Join drops together with the loop
// that called them: a part of the loop, or compiled code and its callers. It returns 0 if there
// is no such loop, or if the loop has no calls.
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

// loops returns how many of the native frames are its runtime's loop.
func (c *Chain) loops(native []callchain.Frame) (n int) {
	for _, f := range native {
		if c.Runtime.Loop(f) {
			n++
		}
	}
	return n
}

// entries returns how many loops the calls need.
func (c *Chain) entries() (n int) {
	for i := range c.Calls {
		if call := &c.Calls[i]; call.PC == 0 && (call.Entry || i+1 == len(c.Calls) || c.Calls[i+1].PC != 0) {
			n++
		}
	}
	return n
}

// inside returns the native frames that may be a chain's calls: all, or those inside the last
// switch. switching is true if a switch, to other calls or back, may be under way.
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

// whose returns the chain that has calls for the native frame f, or nil if there is none. number
// is the frame's index. loop reports whether the frame is an interpreter's loop.
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
