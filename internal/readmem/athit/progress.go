package athit

import (
	"time"

	"github.com/ringtap/ringtap/perfevent"
)

// Progress lets a goroutine that handles hits wait for one that learns more about them.
type Progress chan struct{}

// NewProgress returns a Progress for two goroutines: one calls Announce, the other Wait.
func NewProgress() Progress { return make(Progress, 1) }

// Announce wakes Wait. It does not block.
func (p Progress) Announce() {
	select {
	case p <- struct{}{}:
	default:
	}
}

// maxWait is when Wait gives up, in nanoseconds after the hit. The helper's readings come after a tenth of a second,
// or later if ringtap has to wait for a CPU. On a busy machine, the record of a program that execve(2) starts takes
// long, too.
const maxWait = int64(time.Second)

// Wait blocks until known returns true, or until maxWait after a hit at this time (CLOCK_MONOTONIC in nanoseconds). It
// calls known first, and again after each Announce.
func (p Progress) Wait(hit uint64, known func() bool) {
	left := maxWait - max(0, int64(perfevent.Now()-hit))
	if known() || left <= 0 {
		return
	}
	timer := time.NewTimer(time.Duration(left))
	defer timer.Stop()
	for !known() {
		select {
		case <-p:
		case <-timer.C:
			return
		}
	}
}
