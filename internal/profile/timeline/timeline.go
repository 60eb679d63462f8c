// Package timeline is what happened on which thread at what time, during a run. Where a
// profile.Profile adds up the samples of each row, a Timeline has each of them with its time. It is
// plain data, and knows neither where the samples came from nor how they will look.
package timeline

import (
	"time"

	"github.com/ringtap/ringtap/internal/profile"
)

// Timeline is the samples and waits of a run. Times are nanoseconds on the records' clock, whose
// zero is any time, such as the machine's start.
type Timeline struct {
	// Profile has the sums of the samples, and the stacks that rows refer to.
	Profile    *profile.Profile
	Events     []Event   // one for each metric of Profile
	Begin, End uint64    // of everything below; both are 0 if nothing happened
	Start      time.Time // the wall-clock time of Begin; zero if unknown
	Processes  []Process
	Threads    []Thread // those with samples or waits, in the order in which they were first seen
}

// Event is what is known about the samples of an event.
type Event struct {
	// Interval is the time between two samples of a thread that does nothing but run; 0 if the event
	// does not happen at regular times.
	Interval time.Duration
	Switches bool // each sample is the start of a Wait
}

// Process is one process. A later process with the same PID is another one.
type Process struct {
	PID  int
	Name string // of its first thread, the last one that it had: raw bytes, or ":PID" if unknown
}

// Thread is one thread. A later thread with the same TID is another one.
type Thread struct {
	Process    int // index into Timeline.Processes
	TID        int
	Name       string   // the last one that it had: raw bytes, or ":TID" if unknown
	Start, End uint64   // when it started and ended; 0: before the run or after it
	Samples    []Sample // sorted by time
	Waits      []Wait   // sorted by time; they do not overlap
}

// Sample is one sample of an event.
type Sample struct {
	Time   uint64
	Weight uint64 // how many units of the metric the sample stands for
	Row    int32  // index into Profile.Rows; profile.None if there was no memory for the row
	CPU    uint16 // NoCPU if unknown
	Metric uint16 // index into Profile.Metrics
}

// NoCPU is the CPU of a sample that does not say where it was taken.
const NoCPU = ^uint16(0)

// Wait is a stretch of time that a thread was not on a CPU.
type Wait struct {
	From, To uint64
	Row      int32 // with which stack it left its CPU: as in Sample, or profile.None if unknown
	Reason   Reason
	// NoEnd says that the end of the wait was not recorded. To is then the first time at which the
	// thread is known to have run again, or Timeline.End.
	NoEnd bool
}

// Reason is why a thread left its CPU.
type Reason uint8

// The reasons. Blocked is all that the kernel's switch records say of a thread that did not want to
// run; sched:sched_switch tells the other states apart (prev_state).
const (
	Blocked         Reason = iota
	Sleeping               // S: until an event or a signal
	Uninterruptible        // D: until an event, such as the end of I/O
	Stopped                // T: by a signal
	Traced                 // t: by a tracer
	Idle                   // I: a kernel thread without work
	Preempted              // R: it could have continued
)

// String returns the reason in words, with the letter of ps(1) if there is one.
func (r Reason) String() string {
	switch r {
	case Sleeping:
		return "sleeping (S)"
	case Uninterruptible:
		return "uninterruptible (D)"
	case Stopped:
		return "stopped (T)"
	case Traced:
		return "traced (t)"
	case Idle:
		return "idle (I)"
	case Preempted:
		return "preempted (R)"
	}
	return "blocked"
}
