package goroutine

import (
	"fmt"
	"os"
)

// sameClock tells whether CLOCK_MONOTONIC is the same for a process: it has its own offset
// in each time namespace (time_namespaces(7)), which kernels before 5.6 don't have.
func sameClock(pid int) bool {
	its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/time", pid))
	ours, ourErr := os.Readlink("/proc/self/ns/time")
	if os.IsNotExist(ourErr) {
		return true
	}
	return err == nil && ourErr == nil && its == ours
}
