package functrace

import (
	"errors"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/kprobe"
)

// starts are the addresses of the functions at which graphs start.
type starts map[uint64]bool

// startsOf returns the addresses of the words in set_graph_function. It returns none if the kernel
// hides addresses.
func startsOf(words []string) (starts, error) {
	all := starts{}
	for _, word := range words {
		functions, err := kprobe.Functions(named(word), kprobe.Options{})
		if err != nil && !errors.As(err, new(*kprobe.SymbolError)) {
			return nil, err
		}
		for _, f := range functions {
			if f.Address != 0 {
				all[f.Address] = true
			}
		}
	}
	return all, nil
}

// isUnrequested reports whether a call was not reached from one of the chosen functions. If a
// thread enters a chosen function while nothing is recorded, the kernel marks the thread as being
// inside. It does not remove the mark at the return. The next call of the thread then looks like
// the start of a graph. This happens at the start of the recording, and after a graph that was cut
// off (ftrace_graph_addr in kernel/trace/trace.h).
func (g *graph) isUnrequested(e *ftrace.Entry, c *call, begins bool) bool {
	thread := c.pid
	if thread == 0 {
		thread = -1 - e.CPU // each CPU has an idle task
	}
	switch unrequested := g.unrequested[thread]; {
	case len(g.starts) == 0, c.depth > 0:
		return unrequested
	case g.starts[g.functions.start(c.function)]:
		delete(g.unrequested, thread)
		return false
	case begins:
		g.unrequested[thread] = true
	default:
		delete(g.unrequested, thread)
	}
	return true
}
