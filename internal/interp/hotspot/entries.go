package hotspot

import (
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
)

// interpreter is the code that runs bytecodes. It is made when the machine starts, and
// stays.
type interpreter struct {
	low, high uint64
	code      []byte
	entries   []entry
	sender    uint8 // the register of the caller's stack pointer, while arguments are moved; 0: not known
	tries     int   // to read it
}

// entry is code that makes an interpreted frame: from begin on, from framed on its
// frame pointer is set, and from whole on there are all words that lead to the caller.
type entry struct {
	begin, framed, whole uint64
	sender               uint8 // see interpreter
}

// entryAt is the entry that an address is in, before its frame is whole; nil if it is in none.
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
	maxTries       = 64 // a machine that is just starting has none yet
)

// interprets tells whether an address is in the interpreter.
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

// entered appends the method of a thread that is in the interpreter and has not made its
// frame yet, or has just left it; false if its frame is whole.
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

// nameless is a place in the interpreter that can't be said to be of a method.
func (r *Runtime) nameless(a *callchain.Activation) interp.Level {
	return interp.Level{Frame: interp.Frame{Function: "Interpreter"}, Offset: a.PC - r.interpreter.low}
}

// maxArguments is how far the arguments of a call may move the stack pointer of the
// caller, in bytes: the interpreter wants all of them on the stack.
const maxArguments = 8 << 10
