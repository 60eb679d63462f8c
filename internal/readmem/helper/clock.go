package helper

import (
	"time"

	"github.com/ringtap/ringtap/perfevent"
)

// clock reads CLOCK_MONOTONIC without a system call, from Go's monotonic clock. That has the
// same rate but another origin.
type clock struct {
	start  time.Time
	offset uint64 // added to the time since start, in ns
}

// newClock measures the offset between the two clocks, 100 times, and uses the fastest
// measurement. The clock may be ahead by as long as that took. It is never behind, so that no
// read seems to end before it does.
func newClock() *clock {
	c := &clock{start: time.Now()}
	best := time.Hour
	for range 100 {
		before := time.Since(c.start)
		now := perfevent.Now()
		if took := time.Since(c.start) - before; took < best {
			best, c.offset = took, now-uint64(before)
		}
	}
	return c
}

// now returns the time in nanoseconds of CLOCK_MONOTONIC.
func (c *clock) now() uint64 { return c.offset + uint64(time.Since(c.start)) }
