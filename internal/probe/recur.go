package probe

import (
	"slices"
	"strings"
)

// Recur reports whether reading the hits of a source causes new hits: a thread that is woken to
// read a hit is switched to and makes system calls. Reading memory at each hit of such a source
// would never end.
func Recur(sources []Source) bool { return slices.ContainsFunc(sources, recurs) }

func recurs(s Source) bool {
	if s.Format == nil {
		return false
	}
	switch s.Format.System {
	case "irq", "irq_vectors", "ipi", "power", "raw_syscalls", "rcu", "timer":
		return true
	case "sched":
		return !strings.HasPrefix(s.Format.Name, "sched_process_")
	}
	return false
}
