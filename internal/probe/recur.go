package probe

import (
	"slices"
	"strings"
)

// Recur tells whether a source has hits that the reading of each hit makes: a thread that is woken for it is
// switched to, and makes system calls. What is read at each hit of such a source would go on for ever.
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
