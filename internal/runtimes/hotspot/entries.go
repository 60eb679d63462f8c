package hotspot

import (
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// interpreter is the code that runs bytecodes. It is generated when the machine starts and
// never changes.
type interpreter struct {
	low, high uint64
	code      []byte
	entries   []entry
	sender    uint8 // register with the caller's stack pointer while arguments are moved; 0: unknown
	tries     int   // how often we tried to read it
}

// entry is code that makes an interpreted frame. It starts at begin. From framed on the frame
// pointer is set, and from whole on the frame has all words that lead to the caller.
type entry struct {
	begin, framed, whole uint64
	sender               uint8 // see interpreter
}

// entryAt returns the entry that contains pc, before its frame is whole, or nil.
func (i *interpreter) entryAt(pc uint64) *entry {
	for n := range i.entries {
		if e := &i.entries[n]; e.begin <= pc && pc < e.whole {
			return e
		}
	}
	return nil
}

const (
	maxInterpreter = 8 << 20
	maxCodelets    = 1 << 12
	maxTries       = 64 // a machine that is just starting has no interpreter yet
)

// interprets reports whether an address is in the interpreter.
func (r *Runtime) interprets(pc uint64) bool {
	if r.interpreter.low == 0 && r.interpreter.tries < maxTries {
		r.interpreter.tries++
		r.readInterpreter()
	}
	return r.interpreter.low <= pc && pc < r.interpreter.high
}

// readInterpreter finds the interpreter and its entries (StubQueue in
// src/hotspot/share/code/stubs.hpp).
func (r *Runtime) readInterpreter() {
	l, v := r.layout, &view{mem: r.mem}
	queue := v.u64(l.interpreter)
	low, size := v.u64(queue+l.stubBuffer), uint64(v.u32(queue+l.stubLimit))
	if v.bad || low == 0 || size > maxInterpreter {
		return
	}
	code := make([]byte, size)
	if !r.mem.Read(low, code) {
		return
	}
	r.interpreter.low, r.interpreter.high, r.interpreter.code = low, low+size, code
	for at, n := uint64(0), 0; at < size && n < maxCodelets; n++ {
		length := uint64(half(code[at:], l.codeletSize))
		if length == 0 || length > size-at {
			return
		}
		text := v.text(word(code[at:], l.codeletText), maxName)
		if e, ok := r.machine.entry(code[at:at+length], low+at); ok && strings.HasPrefix(text, "method entry point") {
			r.interpreter.entries = append(r.interpreter.entries, e)
			r.interpreter.sender = e.sender
		}
		at += length
	}
}

// entered appends the method of a thread in the interpreter whose frame is not complete yet, or
// is already gone. It returns false if the frame is whole.
func (r *Runtime) entered(dst []interp.Level, a *callchain.Activation) ([]interp.Level, bool) {
	p, ok := r.machine.partial(r, a)
	if !ok {
		return dst, false
	}
	if p.known {
		a.Leave(p.pc, p.sp, p.fp)
	}
	if m := r.methodAt(p.method); m != nil {
		return append(dst, interp.Level{Frame: m.frame(0)}), true
	}
	return append(dst, r.nameless(a)), true
}

// nameless returns the level for a place in the interpreter whose method is unknown.
func (r *Runtime) nameless(a *callchain.Activation) interp.Level {
	return interp.Level{Frame: interp.Frame{Function: "Interpreter"}, Offset: a.PC - r.interpreter.low}
}

// maxArguments bounds, in bytes, how far a call's arguments may move the caller's stack
// pointer. The interpreter needs all arguments on the stack.
const maxArguments = 8 << 10
