package functrace

import (
	"io"
	"log/slog"
	"time"
)

// Kind says which tracer runs.
type Kind int

const (
	Calls  Kind = iota // each call, by the function tracer
	Graph              // each call with what it calls, by function_graph
	Slower             // calls that take longer than a threshold
)

// tracer returns the kernel's name of the tracer.
func (k Kind) tracer() string {
	if k == Calls {
		return "function"
	}
	return "function_graph"
}

// Options configures a run.
type Options struct {
	Kind Kind
	// Functions are names and patterns (*, ?, [a-z]) of kernel functions. MODULE:NAME means a
	// module's function.
	Functions []string
	PIDs      []int // only these processes, their threads and children; nil: all
	TID       int   // only this thread; 0: all
	Stacks    bool
	Duration  time.Duration // 0: until the context is done or the target has ended
	// Force uses the tracer of tracefs itself even if someone else uses it. It is restored
	// afterwards, but what it had recorded is lost.
	Force bool

	Graph GraphOptions

	// Out gets whole lines. Its error ends the run.
	Out    io.Writer
	Logger *slog.Logger // nil discards
	// Armed, unless nil, is called when recording starts. header has the lines that name the
	// columns.
	Armed func(header string)
}

// GraphOptions are the options of Graph and Slower only.
type GraphOptions struct {
	Depth          int           // maximum depth of calls; 0: unlimited
	OnCPU          bool          // durations exclude the time asleep
	SkipInterrupts bool          // leave out interrupt handlers
	Threshold      time.Duration // for Slower: whole microseconds

	Columns
	Tail     bool // show the function's name at its end too
	Switches bool // show when a CPU switches to another thread
}

// Columns are the columns before each call.
type Columns struct {
	Time, Task, Duration bool
}

// Account says what happened to the records of a run.
type Account struct {
	Shown uint64 // records of calls; a graph has two per call
	Lost  uint64 // overwritten before they could be read
}
