package goroutine

import (
	"fmt"
	"strings"
	"time"

	"github.com/ringtap/ringtap/callchain"
)

// Goroutine is one goroutine as it was found. The caller owns it, but must not change Frames.
type Goroutine struct {
	ID     uint64
	Parent uint64 // the goroutine that created it; 0 if unknown, as before Go 1.21

	// Status is "runnable", "running", "syscall", "waiting", "copystack",
	// "preempted" or "leaked", the runtime's own words.
	Status string
	// WaitReason says what a waiting goroutine waits for: "chan receive", "IO wait", "select".
	// It is "" for other goroutines.
	WaitReason string
	// Waited is roughly how long it has waited or been in a system call. The runtime counts
	// from the garbage collection before the first one that found it waiting, so this is up to
	// two minutes too long. It is valid only if Known is set. It is unknown before the second
	// collection, and if the process has another clock (time_namespaces(7)).
	Waited time.Duration
	Known  bool

	// Lock is the lock or channel that it waits for. Its Kind is "" if that is unknown, or if
	// the goroutine waits for something else.
	Lock Lock

	// Thread is the id of the thread it runs on or makes a system call on, in the process's own
	// pid namespace. It is 0 if there is none.
	Thread int
	// LockedToThread is true if it called runtime.LockOSThread.
	LockedToThread bool
	// Stops is how often it has stopped running, modulo 256.
	Stops uint8
	// System is true if it belongs to the runtime: tracebacks leave such goroutines out.
	System bool

	// Stack identifies the stack among the distinct stacks of a Runtime: goroutines at the same
	// place have the same Stack. It is valid only if there are Frames.
	Stack callchain.StackID
	// Frames is the stack, leaf first. It is empty while the goroutine runs, and if Missing is
	// set. It must not be changed.
	Frames []callchain.Frame
	End    callchain.End // how Frames ended
	// Missing says why there are no Frames. It is "" if there are some, or the goroutine runs.
	Missing string

	// start is the function that it was started with, Creator the go statement. Their Object is
	// zero if they are unknown.
	start, Creator callchain.Frame
}

// State returns the goroutine's state as Go's tracebacks show it in brackets: "chan receive, 2
// minutes, locked to thread".
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

// States of goroutines (runtime/runtime2.go). scanning is a bit that is set while the garbage
// collector scans the stack.
const (
	idle      = 0
	running   = 2
	inSyscall = 3
	waiting   = 4
	dead      = 6
	leaked    = 10 // from Go 1.26 on
	deadExtra = 11 // from Go 1.26 on: dead, but kept for a C thread that may call Go
	scanning  = 0x1000
)

// statuses are the names of states in the runtime's tracebacks.
var statuses = [...]string{
	0: "idle", 1: "runnable", running: "running", inSyscall: "syscall", waiting: "waiting",
	dead: "dead", 8: "copystack", 9: "preempted", leaked: "leaked", deadExtra: "dead",
}

// isStatus reports whether there is such a state.
func isStatus(s uint32) bool { return s < uint32(len(statuses)) && statuses[s] != "" }

// isDead reports whether the runtime.g holds no goroutine: it is not in use yet, or its
// goroutine has ended and it is kept for reuse.
func isDead(s uint32) bool { return s == idle || s == dead || s == deadExtra }
