package moment

import (
	"time"

	"golang.org/x/sys/unix"
)

// ration is the time of a CPU that something may take: a share of all time.
type ration struct {
	share float64
	left  time.Duration
	since time.Time
}

// saved is how much of what was not spent may be spent later.
const saved = 20 * time.Millisecond

func newRation(share float64) ration { return ration{share: share, since: time.Now()} }

// earn adds what has become due.
func (r *ration) earn(now time.Time) {
	r.left = min(r.left+time.Duration(r.share*float64(now.Sub(r.since))), saved)
	r.since = now
}

// due is how long it takes until what was spent too much has been earned.
func (r *ration) due() time.Duration { return time.Duration(float64(-r.left) / r.share) }

// threadTime is how long the thread that calls has run.
func threadTime() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) // it is there since Linux 2.6.12
	return time.Duration(t.Nano())
}
