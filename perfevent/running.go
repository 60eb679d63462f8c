package perfevent

import (
	"fmt"
	"time"
)

// Running says how much of a time an event really counted.
type Running struct {
	// Enabled is how long the target ran, and Counted how much of that the event
	// counted, summed over CPUs. Where more hardware events are asked for than the
	// CPU has counters, the kernel has them take turns, and Counted grows less
	// (perf_event_open(2), PERF_FORMAT_TOTAL_TIME_RUNNING).
	Enabled, Counted time.Duration
}

// Running reads, for each sampling in order, how long it has counted until now. The
// times are for comparing two readings: Enabled begins with Open. It may be called
// between Open and Close by the goroutine that handles the records.
//
// Enabled is the time in which the side-band's dummy events counted, which need no
// counter of the CPU. An event's own time is of no use where threads are watched:
// it goes on while the thread is on another CPU than the event. Where CPUs are watched
// for a target of threads (Sampling.ByCPU) it is the event's own.
func (s *Session) Running() ([]Running, error) {
	s.grow.mu.Lock()
	defer s.grow.mu.Unlock()
	all := make([]Running, len(s.samplings))
	for i, r := range s.grow.retired {
		all[i].Counted = time.Duration(r.running)
	}
	var enabled time.Duration
	for _, e := range s.events {
		c, err := readCount(e.fd, s.format)
		if err != nil {
			return nil, fmt.Errorf("read how long events have counted: %w", err)
		}
		if e.sampling == sideBand {
			enabled += time.Duration(c.running)
			continue
		}
		all[e.sampling].Counted += time.Duration(c.running)
		if s.isWide(int(e.sampling)) {
			all[e.sampling].Enabled += time.Duration(c.enabled)
		}
	}
	for i := range all {
		if !s.isWide(i) {
			all[i].Enabled = enabled
		}
	}
	return all, nil
}
