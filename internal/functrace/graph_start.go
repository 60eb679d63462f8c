package functrace

import (
	"errors"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/kprobe"
)

// starts are the addresses of the functions that a graph begins at.
type starts map[uint64]bool

// startsOf looks the words of set_graph_function up. There are none where the
// kernel hides its addresses.
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

// isStray tells whether a record is of a call that none of the functions chosen
// leads to. A thread that enters one of them while nothing is recorded is marked as
// being in it, and nothing takes the mark away at its return: what the thread
// calls next the kernel takes for a graph's beginning, up to its end. It comes when
// the recording begins, and where an earlier graph was ended in the middle
// (ftrace_graph_addr in kernel/trace/trace.h).
func (g *graph) isStray(e *ftrace.Entry, c *call, begins bool) bool {
	thread := c.pid
	if thread == 0 {
		thread = -1 - e.CPU // each CPU has an idle task
	}
	switch stray := g.strays[thread]; {
	case len(g.starts) == 0, c.depth > 0:
		return stray
	case g.starts[g.functions.start(c.function)]:
		delete(g.strays, thread)
		return false
	case begins:
		g.strays[thread] = true
	default:
		delete(g.strays, thread)
	}
	return true
}
