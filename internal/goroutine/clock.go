package goroutine

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// monotonic is the time that the runtime counts by (runtime.nanotime), ns.
func monotonic() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return 0
	}
	return uint64(t.Nano())
}

// sameClock tells whether that clock is the same for a process: it has its own offset
// in each time namespace (time_namespaces(7)), which kernels before 5.6 don't have.
func sameClock(pid int) bool {
	its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/time", pid))
	ours, ourErr := os.Readlink("/proc/self/ns/time")
	if os.IsNotExist(ourErr) {
		return true
	}
	return err == nil && ourErr == nil && its == ours
}
