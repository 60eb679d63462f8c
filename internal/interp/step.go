package interp

import "github.com/ringtap/ringtap/callchain"

// Level is one function that runs in a native frame.
type Level struct {
	Frame
	Offset uint64 // how far it has come, in bytes of its code or bytecode
}

// Stepper is a runtime whose calls have a frame each on the thread's stack.
type Stepper interface {
	// Name is the runtime with its version: "HotSpot 17".
	Name() string
	// Step appends to dst the functions that run in a frame, innermost first: those that
	// were inlined, then the one that was called. It appends nothing for a frame that is
	// not the runtime's, or whose function can't be told. Where it knows where the caller
	// goes on, it has the activation say so.
	Step(dst []Level, a *callchain.Activation) []Level
}
