package functrace

import (
	"io"
	"log/slog"
	"time"
)

// Kind is which tracer runs.
type Kind int

const (
	Calls  Kind = iota // each call, by the function tracer
	Graph              // each call with what it calls, by function_graph
	Slower             // calls that take longer than a threshold
)

// tracer is the kernel's name of it.
func (k Kind) tracer() string {
	if k == Calls {
		return "function"
	}
	return "function_graph"
}

// Options is what a run does.
type Options struct {
	Kind Kind
	// Functions are names and patterns of kernel functions (*, ?, [a-z]);
	// MODULE:NAME those of a module.
	Functions []string
	PIDs      []int // only these processes, their threads and children; nil: all
	TID       int   // only this thread; 0: all
	Stacks    bool
	Duration  time.Duration // 0: until the context is done or the target has ended
	// Force uses tracefs's own tracer although someone else does. It is put back
	// as it was, but for what was recorded.
	Force bool

	Graph GraphOptions

	// Out is given whole lines. Its error ends the run.
	Out    io.Writer
	Logger *slog.Logger // nil discards
	// Armed, unless nil, is called when calls begin to be recorded, with the
	// lines that name the columns.
	Armed func(header string)
}

// GraphOptions is what Graph and Slower have of their own.
type GraphOptions struct {
	Depth          int           // how deep calls are shown; 0: all
	OnCPU          bool          // durations leave out the time asleep
	SkipInterrupts bool          // do not follow interrupt handlers
	Threshold      time.Duration // of Slower: whole microseconds

	Columns
	Tail     bool // say at each end which function it is of
	Switches bool // say where a CPU goes from one thread to another
}

// Columns are what stands before each call.
type Columns struct {
	Time, Task, Duration bool
}

// Account is where the records of a run went.
type Account struct {
	Shown uint64 // records of calls: in a graph a call has two
	Lost  uint64 // that were overwritten before they could be read
}
