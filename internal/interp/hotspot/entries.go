package hotspot

import (
	"bytes"
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
	tries     int // to read it
}

// entry is code that makes an interpreted frame: from begin on, and from framed on its
// frame pointer is set.
type entry struct{ begin, framed uint64 }

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
		makesFrame := []byte{0x55, 0x48, 0x8b, 0xec} // push %rbp; mov %rsp,%rbp
		text := v.text(word(code[at:], l.codeletText), maxName)
		if made := bytes.Index(code[at:at+length], makesFrame); made >= 0 && strings.HasPrefix(text, "method entry point") {
			r.interpreter.entries = append(r.interpreter.entries, entry{low + at, low + at + uint64(made+len(makesFrame))})
		}
		at += length
	}
}

// entered appends the method of a thread that is in the interpreter and has not made its
// frame yet, or has just left it; false if its frame is whole.
func (r *Runtime) entered(dst []interp.Level, a *callchain.Activation) ([]interp.Level, bool) {
	framed := true
	for _, e := range r.interpreter.entries {
		if e.begin <= a.PC && a.PC < e.framed {
			framed = false
		}
	}
	switch {
	case !framed:
		pc, ok := a.Word(a.SP)
		if _, in := r.heapOf(pc); !in {
			pc, ok = a.Register(columnRAX)
		}
		sp, known := a.Register(columnR13)
		if !known || sp <= a.SP || sp > a.SP+maxArguments {
			sp = a.SP + 8
		}
		if ok {
			a.Leave(pc, sp, a.FP)
		}
	case a.FP-slotMethod < a.SP && a.FP >= a.SP:
		fp, ok := a.Word(a.FP)
		pc, ok2 := a.Word(a.FP + 8)
		sp, known := a.Register(columnR13)
		if !known || sp <= a.FP || sp > a.FP+16+maxArguments {
			sp = a.FP + 16
		}
		if ok && ok2 {
			a.Leave(pc, sp, fp)
		}
	default:
		return r.left(dst, a)
	}
	address, _ := a.Register(columnRBX)
	if m := r.methodAt(address); m != nil {
		return append(dst, interp.Level{Frame: m.frame(0)}), true
	}
	return append(dst, r.nameless(a)), true
}

// left is entered for a thread that has left its frame.
func (r *Runtime) left(dst []interp.Level, a *callchain.Activation) ([]interp.Level, bool) {
	// pop %rsi; mov %rbx,%rsp; jmp *%rsi
	leaving := []byte{0x5e, 0x48, 0x8b, 0xe3, 0xff, 0xe6}
	code := r.interpreter.code[a.PC-r.interpreter.low:]
	pc, ok := a.Register(columnRSI)
	sp, ok2 := a.Register(columnRBX)
	switch {
	case bytes.HasPrefix(code, leaving):
		pc, ok = a.Word(a.SP)
	case bytes.HasPrefix(code, leaving[1:]):
	case bytes.HasPrefix(code, leaving[4:]):
		sp, ok2 = a.SP, true
	default:
		return dst, false
	}
	if ok && ok2 && a.Executable(pc-1) {
		a.Leave(pc, sp, a.FP)
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
