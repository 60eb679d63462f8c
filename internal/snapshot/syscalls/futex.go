package syscalls

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Operations of futex(2), linux/futex.h.
const (
	futexWait        = 0
	futexLockPI      = 6
	futexWaitBitset  = 9
	futexWaitRequeue = 11
	futexLockPI2     = 13

	futexPrivate  = 128
	futexRealtime = 256
)

// futexNames are the operations. Waits with and without a bit mask have the same name.
var futexNames = [...]string{"wait", "wake", "fd", "requeue", "compare and requeue", "wake op", "lock PI", "unlock PI", "trylock PI",
	"wait", "wake", "wait requeue PI", "compare and requeue PI", "lock PI2"}

// FutexWaits reports whether futex(2) with these arguments makes the caller wait.
func FutexWaits(args [6]uint64) bool {
	switch futexOperationOf(args) {
	case futexWait, futexLockPI, futexWaitBitset, futexWaitRequeue, futexLockPI2:
		return true
	}
	return false
}

// FutexPI reports whether the futex word is a priority-inheritance lock.
func FutexPI(args [6]uint64) bool {
	op := futexOperationOf(args)
	return op == futexLockPI || op == futexLockPI2
}

// FutexShared reports whether other processes may wait for the same word.
func FutexShared(args [6]uint64) bool { return args[1]&futexPrivate == 0 }

func futexOperationOf(args [6]uint64) uint64 { return args[1] &^ (futexPrivate | futexRealtime) }

func futexText(d *describer, i int) string {
	op := futexOperationOf(d.args)
	if op >= uint64(len(futexNames)) {
		return hexText(d, i)
	}
	text := futexNames[op]
	if FutexShared(d.args) {
		text += " (shared between processes)"
	}
	return text
}

// futexValueText describes the value that a wait expects the word to keep. It returns "" for other
// operations.
func futexValueText(d *describer, i int) string {
	if text := futexText(d, i-1); strings.HasPrefix(text, "wait") {
		return fmt.Sprintf("while it is %d", uint32(d.args[i]))
	}
	return ""
}

// futexTimeoutText describes the timeout of a wait. It is a duration in the first operation, and a
// time of a clock in the others.
func futexTimeoutText(d *describer, i int) string {
	op := futexOperationOf(d.args)
	switch {
	case !FutexWaits(d.args):
		return ""
	case op == futexWait || d.args[i] == 0:
		return timeoutText(d, i)
	}
	clock := int32(unix.CLOCK_MONOTONIC)
	if op == futexLockPI || d.args[1]&futexRealtime != 0 {
		clock = unix.CLOCK_REALTIME
	}
	words, ok := d.time(i)
	if !ok {
		return "a timeout"
	}
	return "timeout in " + left(clock, words)
}
