package interp

import "github.com/ringtap/ringtap/callchain"

// Level is one function that runs in a native frame. Several do if functions were inlined.
type Level struct {
	Frame
	Offset uint64 // position in the function, in bytes of its code or bytecode
}

// Stepper is a runtime with one frame on the thread's stack per call.
type Stepper interface {
	// Name returns the runtime's name and version: "HotSpot 17".
	Name() string
	// Step appends to dst the functions that run in the frame a, innermost first: the inlined
	// ones, then the one that was called. It appends nothing if the frame is not the runtime's
	// or its function is unknown. If it knows where the caller continues, it calls a.Leave.
	Step(dst []Level, a *callchain.Activation) []Level
}
