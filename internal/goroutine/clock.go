package goroutine

import (
	"os"

	"github.com/ringtap/ringtap/internal/proc"
)

// sameClock reports whether CLOCK_MONOTONIC is the same for a process: it has its own offset
// in each time namespace (time_namespaces(7)), which kernels before 5.6 don't have.
func sameClock(pid int) bool {
	same, err := proc.Live.SameNamespace(pid, "time")
	return same || os.IsNotExist(err)
}
