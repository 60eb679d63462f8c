// Package profile is the finished table of a collector, from which every output form in
// internal/output is made. It knows neither where the records came from nor how the table will
// look. It is plain data, created once at report time from interned stacks and symbolized frames.
package profile

import (
	"fmt"
	"slices"
	"time"

	"github.com/ringtap/ringtap/internal/profile/histogram"
)

// Profile is one table for one window of time.
type Profile struct {
	Collector string        // command that made it, "on-cpu"
	Event     string        // sampled event in perf's notation, "cpu-clock"
	Command   string        // command line of the run, "" if unknown
	Host      string        // host name, "" if unknown
	Start     time.Time     // wall-clock time of the window's start; zero if unknown
	Duration  time.Duration // length of the window; 0 if unknown
	Period    time.Duration // time that one sample stands for; 0 if samples do not stand for time
	// Who is the heading of the view's table of processes, which comes before the functions and
	// includes the stacks' labels. If it is "", the view has no such table.
	Who     string
	CPUTime time.Duration // CPU time of the target by the kernel's count; 0 if unknown

	Metrics   []Metric
	Objects   []Object  // Objects[0] is the kernel
	Frames    []Frame   // distinct frames
	Stacks    []Stack   // distinct stacks, which rows refer to by index
	Processes []Process // processes that have rows
	Rows      []Row     // one per combination of process, user stack and kernel stack

	Accounts []Account // one per event, for the closing line
	Notes    []string  // what a reader must know, such as "no kernel stacks: perf_event_paranoid is 2"
	Details  []string  // how the profile was made, which a reader can do nothing about
}

// Column returns a profile of one metric alone, with the rows that have counts of it. It shares
// everything else with p.
func (p *Profile) Column(metric int) *Profile {
	one := *p
	one.Metrics, one.Rows = p.Metrics[metric:metric+1:metric+1], nil
	for _, r := range p.Rows {
		if r.Values[metric] > 0 {
			r.Values = r.Values[metric : metric+1 : metric+1]
			one.Rows = append(one.Rows, r)
		}
	}
	return &one
}

// AllNotes returns the notes and then the details.
func (p *Profile) AllNotes() []string { return slices.Concat(p.Notes, p.Details) }

// Metric is one column of values.
type Metric struct {
	Name string // column heading in the collector's table, "OnCPUTime"
	Type string // pprof sample type, "samples"
	Unit string // base unit: "nanoseconds", "bytes", "counts"
	// Running says that the metric counts what happens while the leaf of a stack runs, such as
	// clock samples or cache misses. Other metrics count the collector's own event, such as a wait.
	Running bool
	Scale   uint64 // units that one count in Row.Values stands for: 20408163 for 49 Hz
	// Squares is the sum of each sample's count, squared, if samples have counts of their own such as
	// periods. 0 if unknown. The margin of a share depends on it (internal/profile/diff).
	Squares float64
	// Share, if not nil, makes the metric a share of other metrics, in percent. Shares cannot be
	// added up, so Row.Values is 0 for the metric.
	Share *Share
}

// Share is the part of Whole that is not Missing, in percent: 100 × (1 − Missing/Whole). Both are
// indexes into Profile.Metrics.
type Share struct {
	Missing, Whole int
}

// Of returns the share of a row's or a sum's values, rounded. It returns 0 if Whole is 0. It also
// returns 0 if Missing exceeds Whole, which is possible because the two are sampled separately.
func (s *Share) Of(values []uint64) uint64 {
	missing, whole := float64(values[s.Missing]), float64(values[s.Whole])
	if missing >= whole {
		return 0
	}
	return uint64(100*(1-missing/whole) + 0.5)
}

// Object is a file, the kernel or memory that contains code.
type Object struct {
	Path                               string // path as the process sees it; "[kernel]", "[vdso]" or "[anon]" if there is no file
	BuildID                            string // lowercase hexadecimal, "" if there is none
	Kernel                             bool
	Labels                             bool   // not code: the names of its frames are words of a collector
	Marks                              bool   // with Labels: the words mark places where callers are missing
	Runtime                            string // runtime whose functions its frames are, "HotSpot 17"; "" for native code
	HasFunctions, HasLines, HasInlines bool
}

// Frame is one symbolized address. Strings are raw: output forms escape them.
type Frame struct {
	Object  int    // index into Objects
	Address uint64 // address in the object, by which the name and lines are found (callchain.Frame.Offset)
	Return  bool   // Address is one byte before a return address (callchain.Frame.Return)
	Name    string // demangled function name; "" if unknown
	RawName string // name in the symbol table (pprof's system name)
	Offset  uint64 // in bytes from the function's start to PC
	Start   uint64 // Address of the function's start
	// Unnamed says that no symbol table names the function. Name is then the object with Start,
	// "postgres+0x3efc80", so that each such function has a distinct name.
	Unnamed bool
	// Lines is set only if source lines were requested. The innermost inlined function is first,
	// and the containing function last (pprof's order).
	Lines []Line
}

// PC returns the address to show: the instruction for a leaf, and the return address for a caller,
// as the kernel and debuggers print it.
func (f *Frame) PC() uint64 {
	if f.Return {
		return f.Address + 1
	}
	return f.Address
}

// String returns the function and the offset in it, or the address if the name is unknown.
func (f *Frame) String() string {
	if f.Name == "" {
		return fmt.Sprintf("%#x", f.PC())
	}
	return fmt.Sprintf("%s+%#x", f.Name, f.Offset)
}

// Source returns the file and line of a function of a runtime, such as Python's. file is "" for
// native code, or if they are unknown. object must be the frame's object.
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

// Process is one process between two exec calls. Reports call the TGID "pid".
type Process struct {
	PID    int
	NSPID  int // PID in the innermost PID namespace; equals PID if there is only one
	TGID   int
	Comm   string // raw bytes of the name
	Cgroup string // path below the cgroup root
}

// None is the index of a missing stack in a row.
const None = -1

// Row is the counts of one combination of process and stacks.
type Row struct {
	Process int      // index into Processes
	User    int      // index into Stacks, or None
	Kernel  int      // index into Stacks, or None
	Values  []uint64 // one per Metric; 0 for metrics that are shares
	// Histograms are the histograms of observed values, one per collector and nil for collectors
	// without one. The slice is nil if no collector has any.
	Histograms []*histogram.Histogram
}

// Account is the account of one event. If the kernel counts what it samples, Received + Lost +
// Overwritten = Counted.
type Account struct {
	Event       string
	Received    uint64 // records read
	Lost        uint64 // records that the kernel reports as dropped
	Others      uint64 // samples of other processes than the target's, left out; 0 if only the target is sampled. Lost includes theirs
	Overwritten uint64 // records that were kept for an alarm and overwritten by later ones before it came
	Throttled   uint64 // how often the kernel throttled the event
	Counted     uint64 // the kernel's own count, without records that came twice or were not the target's; valid only if Exact
	Exact       bool   // each count is one record (period 1)
	Stacks      uint64 // samples with a user stack, except those that are only paired with another sample
	Truncated   uint64 // samples with a truncated user stack, except Joined
	Joined      uint64 // samples with a truncated user stack that is the start of exactly one whole stack, which replaces it
	Early       uint64 // part of Truncated: samples from before ringtap read more of their process's stacks than the copies
	Broken      uint64 // samples whose user stack ends before its outermost function
	Unmapped    uint64 // samples without a user stack, at addresses outside of known mappings of their process
	LeftOut     uint64 // samples received but not shown: ringtap's own, the idle task's, late ones
	Unkept      uint64 // samples counted in one row because memory was full
	Unknown     uint64 // distinct frames without a name
}
