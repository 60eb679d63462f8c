package v8

import (
	"bytes"

	"github.com/ringtap/ringtap/callchain"
)

// shape is how much of its frame code has.
type shape uint8

const (
	whole  shape = iota
	before       // it will make one
	pushed       // the caller's frame pointer lies on top
	after        // it has left it
)

const (
	prologue = 48 // bytes of code that may run before the frame is made
	epilogue = 24 // and after it is left
)

// shapeOf tells from the instructions around an interrupted place how much of the frame
// there is.
func (r *Runtime) shapeOf(a *callchain.Activation) shape {
	var b [epilogue + prologue]byte
	if !r.heap.mem.Read(a.PC-epilogue, b[:]) {
		return whole
	}
	start := a.PC - prologue
	if a.Generated {
		if c := r.codeAt(a.PC); c != nil {
			start = c.start
			var first [baselineCall]byte
			if a.PC-start <= baselineCall && r.heap.mem.Read(start, first[:]) && baselineBegins(first[:]) {
				return before
			}
		}
	} else if begin, ok := r.builtins.begin(a.Place.Offset); ok {
		start = a.PC - (a.Place.Offset - begin)
	}
	return shapeAt(b[:], epilogue, a.PC-start)
}

// baselineCall is where baseline code calls the builtin that makes its frame.
const baselineCall = 15

// baselineBegins tells whether code begins as the baseline compiler's: mov $size,%ebx;
// movabs $bytecode,%r12; call.
func baselineBegins(code []byte) bool {
	return code[0] == 0xbb && code[5] == 0x49 && code[6] == 0xbc
}

// shapeAt is shapeOf for the code around at, which is so many bytes behind the begin of its
// function.
func shapeAt(code []byte, at int, behind uint64) shape {
	makes := []byte{0x55, 0x48, 0x89, 0xe5}  // push %rbp; mov %rsp,%rbp
	leaves := []byte{0x48, 0x8b, 0xe5, 0x5d} // mov %rbp,%rsp; pop %rbp
	next := code[at:]
	switch {
	case behind < prologue && bytes.Contains(next, makes):
		return before
	case behind < prologue && bytes.HasPrefix(next, makes[1:]) && code[at-1] == makes[0]:
		return pushed
	case next[0] == 0x5d: // pop %rbp
		return pushed
	case next[0] == 0xc3, next[0] == 0xc2: // ret
		return after
	}
	past := code[:at]
	if behind < uint64(at) {
		past = past[at-int(behind):]
	}
	if i := bytes.LastIndex(past, leaves); i >= 0 && !returns(past[i+len(leaves):]) {
		return after
	}
	return whole
}

// returns tells whether the code after a frame is left has come to its end before: by a jump
// to where another function goes on, or a return.
func returns(code []byte) bool {
	jumps := len(code) > 0 && (code[0] == 0xe9 || code[0] == 0xeb)
	return jumps || bytes.IndexByte(code, 0xc3) >= 0 || bytes.IndexByte(code, 0xcc) >= 0
}
