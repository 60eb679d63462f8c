package perfevent

import "golang.org/x/sys/unix"

// Now reads the clock that records carry: CLOCK_MONOTONIC, in nanoseconds.
func Now() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0 // cannot happen: the clock always exists
	}
	return uint64(t.Nano())
}
