package interp

import "github.com/ringtap/ringtap/callchain"

// Frame is one function of interpreted code.
type Frame struct {
	Function string // the language's name for it: "Class.method", "<module>"
	File     string // source file, "" if unknown
	Line     int    // the line being executed, from 1; 0 if unknown
}

// Call is one call that a walk has found: numbers that only its Runtime understands. Equal
// numbers mean the same place as long as the function exists.
type Call struct {
	Code uint64 // address of the runtime's data about the function
	At   uint64 // position in the function, in the runtime's own units
	// Cookie is a value derived from the function that must be the same when it is named, for
	// runtimes that move or free objects. Some runtimes use it for more of the position in the
	// function. It may be 0.
	Cookie uint64
	// PC is the address in the native frame that is this call; 0 if a loop runs it.
	PC uint64
	// Entry is true if a frame of the loop started with this call: the next call runs in
	// another loop frame, further out.
	Entry bool
}

// Thread is what is known of a thread to walk. Unknown fields are zero.
type Thread struct {
	TID        int // in the process's innermost pid namespace
	PC, SP, FP uint64
	Stack      []byte // copied, starting at SP
}

// Walker finds the calls of threads. It has its own work space and belongs to one goroutine at
// a time.
type Walker interface {
	// Walk appends a thread's calls to dst, leaf first, up to dst's capacity. A thread without
	// calls runs none of the runtime's code. The End is Complete if Walk found the outermost
	// call. It is Cut if dst or the bound on reads was too small. It is Lost if the memory made
	// no sense; the calls found until then are good.
	Walk(dst []Call, t *Thread) ([]Call, callchain.End)
}

// Runtime is one runtime in a process. It is valid until the process executes another program.
// Everything except its Walkers belongs to one goroutine.
type Runtime interface {
	// Name returns the runtime's name and version: "CPython 3.12.1".
	Name() string
	// Walker returns a Walker over the process's memory. If m is not nil, the Walker reads
	// through m, because a walk may have bounds that Attach does not have.
	Walker(m Memory) Walker
	// Frames appends the frames of a call to dst: usually one. If functions were inlined, it
	// appends several, innermost first; for a call of the runtime's own code, none. It returns
	// false if the object with the names is gone.
	Frames(dst []Frame, c Call) ([]Frame, bool)
	// Loop reports whether f is a frame of the runtime's loop.
	Loop(f callchain.Frame) bool
}

// Handlers is a Runtime whose loop is split into functions. Handler reports whether f is a
// frame of one. Only the loop calls them, and their frames are not levels of the chain.
type Handlers interface {
	Handler(f callchain.Frame) bool
}

// Compiler is a Runtime with a JIT compiler. Its loop calls compiled code, which has no unwind
// information, and one native frame for all the compiled functions. Step finds that frame's
// caller.
type Compiler interface {
	callchain.Runtime
	// Compiled reports whether f is a frame of compiled code. It knows only code that Step has
	// seen.
	Compiled(f callchain.Frame) bool
}

// Switcher is a Runtime with libraries that set a thread's calls aside and run other calls on
// top of their native frames, like Python's greenlets. A walk finds the calls that run.
type Switcher interface {
	// Switches reports whether f is a frame of such a library, which calls the loop.
	Switches(f callchain.Frame) bool
}
