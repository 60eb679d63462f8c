package goroutine

import (
	"os"

	"github.com/ringtap/ringtap/internal/host/proc"
)

// sameClock reports whether CLOCK_MONOTONIC in a process equals ours. Each time namespace has
// its own offset (time_namespaces(7)). Kernels before 5.6 have no time namespaces.
func sameClock(pid int) bool {
	same, err := proc.Live.SameNamespace(pid, "time")
	return same || os.IsNotExist(err)
}
