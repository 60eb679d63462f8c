// Package profile holds the finished table of a collector: the one model that
// every output form of internal/report is a view of. It knows neither where
// the records came from nor how the table will look; it is plain data, made
// once at report time from interned stacks and symbolized frames.
package profile

import (
	"fmt"
	"slices"
	"time"

	"github.com/ringtap/ringtap/internal/histogram"
)

// Profile is one table of one window of time.
type Profile struct {
	Collector string        // command that made it, "on-cpu"
	Event     string        // what was sampled, as perf names it, "cpu-clock"
	Command   string        // command line that asked for it, "" if not kept
	Host      string        // name of the machine, "" if not kept
	Start     time.Time     // wall clock at the begin of the window
	Duration  time.Duration // length of the window
	Period    time.Duration // time one sample stands for; 0 if samples are not time
	// Who is the heading of the view's table of processes, which comes before the functions and
	// includes the stacks' labels. If Who is empty, the view has no such table.
	Who     string
	CPUTime time.Duration // how long the target ran by the kernel's count; 0 if unknown

	Metrics   []Metric
	Objects   []Object  // Objects[0] is the kernel
	Frames    []Frame   // distinct frames
	Stacks    []Stack   // distinct stacks; a Row names them by index
	Processes []Process // those that have rows
	Rows      []Row     // one per process, user stack and kernel stack

	Accounts []Account // one per event, for the closing line
	Notes    []string  // sentences a reader must know, e.g. "no kernel stacks: perf_event_paranoid is 2"
	Details  []string  // sentences on how the profile was made, which a reader can do nothing about
}

// AllNotes returns the notes and then the details.
func (p *Profile) AllNotes() []string { return slices.Concat(p.Notes, p.Details) }

// Metric is one value column.
type Metric struct {
	Name string // column name of the collector's table, "OnCPUTime"
	Type string // pprof sample type, "samples"
	Unit string // base unit of the tables' heading, "nanoseconds", "bytes", "counts"
	// Running says that the metric counts what happens while the leaf of a stack runs, a
	// clock's samples or cache misses, and not what the collector's own event is about.
	Running bool
	Scale   uint64 // units that one count of Row.Values stands for: 20408163 for 49 Hz
	// Share, unless nil, makes the metric a share of others, in percent: it does not
	// add up, and Row.Values has 0 in its place.
	Share *Share
}

// Share is the part of Whole that is not Missing: 100 × (1 − Missing/Whole). Both
// are indexes into Profile.Metrics.
type Share struct {
	Missing, Whole int
}

// Of is the share of a row's or a sum's values, rounded; 0 of nothing, and where
// more is missing than there is: the two were sampled one by one.
func (s *Share) Of(values []uint64) uint64 {
	missing, whole := float64(values[s.Missing]), float64(values[s.Whole])
	if missing >= whole {
		return 0
	}
	return uint64(100*(1-missing/whole) + 0.5)
}

// Object is a file, the kernel or memory that holds code.
type Object struct {
	Path                               string // as the process sees it; "[kernel]", "[vdso]", "[anon]" where there is no file
	BuildID                            string // lower-case hexadecimal, "" if there is none
	Kernel                             bool
	Labels                             bool   // no code: the names of its frames are words of a collector
	Marks                              bool   // with Labels: the words say where callers are missing
	Runtime                            string // whose functions its frames are, "HotSpot 17"; "" for native code
	HasFunctions, HasLines, HasInlines bool
}

// Frame is one symbolized place. Strings are raw: an output form escapes them.
type Frame struct {
	Object  int    // index into Objects
	Address uint64 // place in the object that has the name and the lines (callchain.Frame.Offset)
	Return  bool   // Address lies one byte before a return address (callchain.Frame.Return)
	Name    string // function, demangled; "" if unknown
	RawName string // as the symbol table has it (pprof's system name)
	Offset  uint64 // bytes from the function's first byte to PC
	Start   uint64 // Address of the function's first byte
	// Unnamed says that no table names the function: Name is the object's with Start,
	// "postgres+0x3efc80", so that each such function is one of its own.
	Unnamed bool
	// Lines are set only where source lines were asked for: innermost inlined
	// function first, the function that holds the code last (pprof's order).
	Lines []Line
}

// PC is the address that is shown: the return address itself for a caller, as the
// kernel and debuggers print it; the instruction for a leaf.
func (f *Frame) PC() uint64 {
	if f.Return {
		return f.Address + 1
	}
	return f.Address
}

// String is the function and the distance from its start, or the address where no
// name is known.
func (f *Frame) String() string {
	if f.Name == "" {
		return fmt.Sprintf("%#x", f.PC())
	}
	return fmt.Sprintf("%s+%#x", f.Name, f.Offset)
}

// Source is the file and the line of a function of a runtime, as Python's, in its object: "" where they are
// not known, and of native code.
func (f *Frame) Source(object *Object) (file string, line int) {
	if object.Runtime == "" || f.Name == "" || len(f.Lines) == 0 {
		return "", 0
	}
	l := &f.Lines[len(f.Lines)-1]
	return l.File, l.Line
}

// Line is one level of inlining at a frame.
type Line struct {
	Function string
	File     string
	Line     int
	Start    int // line of the function's declaration, 0 if unknown
}

// Stack is a list of indexes into Frames, root first, leaf last.
type Stack struct {
	Frames    []int
	Truncated bool // the root is missing: the stack was cut short
}

// Process is one life of one process between exec calls. A report speaks of
// the tgid as pid.
type Process struct {
	PID    int
	NSPID  int // pid in the innermost pid namespace; PID if there is no other
	TGID   int
	Comm   string // raw bytes of the name
	Cgroup string // path below the cgroup root
}

// None in place of a stack index says that the row has no such stack.
const None = -1

// Row is one counted combination.
type Row struct {
	Process int      // index into Processes
	User    int      // index into Stacks, or None
	Kernel  int      // index into Stacks, or None
	Values  []uint64 // one per Metric, of those that add up
	// Histograms are what was observed, one for each collector and nil for one without; nil
	// if no collector has any.
	Histograms []*histogram.Histogram
}

// Account is the bookkeeping of one event: Received + Lost + Overwritten = Counted wherever
// the kernel counts what it samples.
type Account struct {
	Event       string
	Received    uint64 // records read
	Lost        uint64 // records the kernel says it dropped
	Others      uint64 // samples of others than the target, which are left out; 0 where only the target is sampled. The lost are of all
	Overwritten uint64 // records that were kept for an alarm, and written over by later ones before one came
	Throttled   uint64 // times the kernel throttled the event
	Counted     uint64 // the kernel's own count, but of records that came twice or were not the target's; meaningful only if Exact
	Exact       bool   // one count is one record (period 1)
	Stacks      uint64 // samples with a user stack: what is only paired with another sample has none
	Truncated   uint64 // samples whose user stack was cut short, but for the joined
	Joined      uint64 // samples whose user stack was cut short and is the beginning of one whole stack only, which stands for it
	Early       uint64 // of the truncated, samples that came before the stacks of their process were read beyond the copies
	Broken      uint64 // samples whose user stack ends before its outermost function
	Unmapped    uint64 // samples without a user stack: they are at addresses in no known mapping of their process
	LeftOut     uint64 // samples received but not shown: ringtap's own, the idle task's, late ones
	Unkept      uint64 // samples counted on one row, for want of memory
	Unknown     uint64 // distinct frames without a name
}
