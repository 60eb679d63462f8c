package goroutine

import (
	"fmt"
	"strings"
	"time"

	"github.com/ringtap/ringtap/callchain"
)

// Goroutine is one goroutine as it was found. It is the caller's; Frames are shared.
type Goroutine struct {
	ID     uint64
	Parent uint64 // the goroutine that made it; 0 if not known, as before Go 1.21

	// Status is "runnable", "running", "syscall", "waiting", "copystack",
	// "preempted" or "leaked", the runtime's own words.
	Status string
	// WaitReason is what a waiting goroutine waits for: "chan receive", "IO wait",
	// "select"; "" for others.
	WaitReason string
	// Waited is about how long it has waited, or been in a system call: the runtime
	// counts from the garbage collection before the first one that found it so, up
	// to two minutes too long. Zero if Known is not set, as before the second
	// collection, and where the process has another clock (time_namespaces(7)).
	Waited time.Duration
	Known  bool

	// Lock is the lock or channel that it waits for; its Kind is "" if that is unknown or
	// the goroutine waits for something else.
	Lock Lock

	// Thread is the thread that it runs on or is in a system call on; 0 if it has
	// none. The number is that of the process's own pid namespace.
	Thread int
	// LockedToThread says that it called runtime.LockOSThread.
	LockedToThread bool
	// Stops is how often it has stopped running, modulo 256.
	Stops uint8
	// System says that it belongs to the runtime: tracebacks of programs leave it out.
	System bool

	// Stack numbers the distinct stacks of a Runtime: goroutines that stand at the
	// same place have the same. Only where there are Frames.
	Stack callchain.StackID
	// Frames is the stack, leaf first; empty while it runs, and where Missing says
	// why. It must not be changed.
	Frames []callchain.Frame
	End    callchain.End // how Frames ended
	// Missing says why there are no Frames, "" if there are or it runs.
	Missing string

	// Start is the function that it was started with, Creator the go statement.
	// Their Object is zero where they are not known.
	Start, Creator callchain.Frame
}

// State is the goroutine's state as a traceback of Go has it between brackets:
// "chan receive, 2 minutes, locked to thread".
func (g *Goroutine) State() string {
	var b strings.Builder
	switch {
	case g.WaitReason == "":
		b.WriteString(g.Status)
	default:
		b.WriteString(g.WaitReason)
		if g.Status == statuses[leaked] {
			b.WriteString(" (leaked)")
		}
	}
	if minutes := g.Waited / time.Minute; g.Known && minutes >= 1 {
		fmt.Fprintf(&b, ", %d minutes", minutes)
	}
	if g.LockedToThread {
		b.WriteString(", locked to thread")
	}
	return b.String()
}

// States of goroutines (runtime/runtime2.go), without the bit that says that the
// garbage collector reads its stack.
const (
	idle      = 0
	running   = 2
	inSyscall = 3
	waiting   = 4
	dead      = 6
	leaked    = 10 // from Go 1.26 on
	deadExtra = 11 // the same: kept for a thread of C that may call Go
	scanning  = 0x1000
)

// statuses are the words that the runtime's tracebacks have for states.
var statuses = [...]string{
	0: "idle", 1: "runnable", running: "running", inSyscall: "syscall", waiting: "waiting",
	dead: "dead", 8: "copystack", 9: "preempted", leaked: "leaked", deadExtra: "dead",
}

// isStatus reports whether there is such a state.
func isStatus(s uint32) bool { return s < uint32(len(statuses)) && statuses[s] != "" }

// isDead reports whether the state is that of no goroutine: one not made yet, or one
// that has ended and is kept for another.
func isDead(s uint32) bool { return s == idle || s == dead || s == deadExtra }
