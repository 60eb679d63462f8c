package interp

import "github.com/ringtap/ringtap/callchain"

// Frame is one function of interpreted code.
type Frame struct {
	Function string // as the language names it: "Class.method", "<module>"
	File     string // of the source, "" if not known
	Line     int    // that runs, from 1 on; 0 if not known
}

// Call is one call as a walk has found it: numbers that mean nothing without the
// runtime. The same numbers mean the same place as long as the function exists.
type Call struct {
	Code uint64 // the address of what the runtime keeps about the function
	At   uint64 // where in the function it is, as the runtime counts
	// Cookie is something of the function that must be the same when it is named, for
	// runtimes that move objects, or more of where in the function it is; 0: nothing.
	Cookie uint64
	// PC is the address in the native frame that is this call; 0 where a loop runs it.
	PC uint64
	// Entry says that a frame of the loop began with this call: the next call's loop is
	// another frame, further out.
	Entry bool
}

// Thread is what is known of a thread that is walked. What is not known is zero.
type Thread struct {
	TID        int // in the process's innermost pid namespace
	PC, SP, FP uint64
	Stack      []byte // copied from SP on
}

// Walker finds the calls of threads. It owns the space that it works in and belongs to one
// goroutine at a time.
type Walker interface {
	// Walk appends the calls of a thread to dst, leaf first, up to dst's capacity. A
	// thread without any runs none of the runtime's code. The End is Complete if the
	// outermost call was found, Cut if dst or the bound on reads was too small, and Lost
	// if what was read made no sense: the calls up to there do.
	Walk(dst []Call, t *Thread) ([]Call, callchain.End)
}

// Runtime is one runtime that lives in a process. It is good as long as the process does
// not execute another program. All but its Walkers belong to one goroutine.
type Runtime interface {
	// Name is the runtime with its version: "CPython 3.12.1".
	Name() string
	// Walker makes a Walker over the process's memory. It reads that by m, if that is not
	// nil: a walk may have bounds that Attach does not have.
	Walker(m Memory) Walker
	// Frames appends what a call is to dst: one frame, or more where functions were
	// inlined into it, the innermost first; none for a call of the runtime's own making.
	// It reports false if the object that has the names is gone.
	Frames(dst []Frame, c Call) ([]Frame, bool)
	// Loop tells whether a native frame is a loop of the runtime.
	Loop(f callchain.Frame) bool
}

// Handlers is a Runtime whose loop has functions that are a part of it: each is called by
// nothing else, and its frame is no level of the chain.
type Handlers interface {
	Handler(f callchain.Frame) bool
}

// Compiler is a Runtime that compiles functions when a program runs. Its loop calls that code, which has no
// unwind information, and one native frame for all functions that it has called: Step says where that is left.
type Compiler interface {
	callchain.Runtime
	// Compiled tells whether a native frame is of such code. It knows what Step has seen.
	Compiled(f callchain.Frame) bool
}

// Switcher is a Runtime with libraries that set a thread's calls aside and run others on top of their
// native frames, as greenlets of Python: a walk finds those that run.
type Switcher interface {
	// Switches tells whether a native frame is of such a library, which calls the loop.
	Switches(f callchain.Frame) bool
}
