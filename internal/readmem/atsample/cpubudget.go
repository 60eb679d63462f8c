package atsample

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuBudget is the CPU time that a task may use: a share of the time that passes. The task subtracts what it
// uses from remaining, which may become negative.
type cpuBudget struct {
	share       float64
	remaining   time.Duration
	earnedUntil time.Time
}

// maxSaved is the most unused time that a cpuBudget keeps.
const maxSaved = 20 * time.Millisecond

func newCPUBudget(share float64) cpuBudget { return cpuBudget{share: share, earnedUntil: time.Now()} }

// earn adds the share of the time that has passed until now.
func (b *cpuBudget) earn(now time.Time) {
	b.remaining = min(b.remaining+time.Duration(b.share*float64(now.Sub(b.earnedUntil))), maxSaved)
	b.earnedUntil = now
}

// untilEarned returns how long it takes until remaining is 0 again. It is negative if some remains.
func (b *cpuBudget) untilEarned() time.Duration {
	return time.Duration(float64(-b.remaining) / b.share)
}

// threadCPUTime returns the CPU time that the calling thread has used.
func threadCPUTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // cannot fail since Linux 2.6.12
	return time.Duration(t.Nano())
}
