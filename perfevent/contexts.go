package perfevent

import (
	"slices"

	perf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"
)

// keepsContexts is a bit of sample_type by which an inherited event has its
// thread keep its context of events.
//
// At a switch between two clones the kernel would rather swap their whole
// contexts. If the two are different processes, the events of one are then the
// events of the other's thread to the uprobes; when that one ends, the kernel
// takes the breakpoints out of the memory of the one that goes on, and what it
// hits from then on is not even counted. (Linux 6.18: a program with two children
// lost thousands of 120,000 hits in every other run.) Contexts with an inherited
// event that reads counts into its samples are not swapped
// (perf_event_context_sched_out in kernel/events/core.c, since Linux 6.12). The
// side-band's dummy event makes no samples.
const keepsContexts = unix.PERF_SAMPLE_READ

// needsContexts tells whether any sampling may be of a uprobe: swapping is the
// cheaper switch for all others.
func (s *Session) needsContexts() bool {
	return !s.swapped && slices.ContainsFunc(s.samplings, func(s Sampling) bool {
		return s.Event.attr.Type == perf.TracepointEvent
	})
}

// swapContexts gives up keepsContexts, which may be what the kernel refuses.
func (s *Session) swapContexts() {
	if s.needsContexts() {
		s.opts.logger().Info("hits in forked children may be missed by this kernel; the whole system is traced without loss", "fixed", "Linux 6.12")
	}
	s.swapped = true
}
