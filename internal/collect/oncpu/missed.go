package oncpu

import (
	"fmt"
	"time"

	"github.com/ringtap/ringtap/internal/process"
)

// missed compares the samples with the kernel's count of the watched processes' CPU time. It is
// used if children inherit events. Each child then starts a new period, so that a child that runs
// for less than a period has no sample.
type missed struct {
	host    process.Host
	last    map[int]process.CPUTime // per watched process, at the start of the window; nil: no comparison
	samples uint64                  // in the current window
	whole   struct {                // in the windows before
		samples uint64
		used    time.Duration
	}
}

// Inherits implements table.Inherited. It starts the comparison.
func (c *Collector) Inherits() {
	c.missed.last = make(map[int]process.CPUTime)
	c.used()
}

// used returns the CPU time since the last call, of the watched processes and the children that
// they have waited for. All of that time should be sampled.
func (c *Collector) used() (sum time.Duration) {
	for _, pid := range c.Watched {
		now, err := c.missed.host.CPUTime(pid)
		if err != nil {
			continue // it has ended
		}
		before := c.missed.last[pid]
		c.missed.last[pid] = now
		sum += now.User - before.User
		if !c.UserOnly {
			sum += now.System - before.System
		}
	}
	return sum
}

// Notes returns a note about CPU time that has no samples, if there was any.
func (c *Collector) Notes(whole bool) (notes, details []string) {
	m := &c.missed
	if m.last == nil {
		return nil, nil
	}
	samples, used := m.whole.samples, m.whole.used
	if !whole {
		samples, used = m.samples, c.used()
		m.whole.samples += samples
		m.whole.used += used
		m.samples = 0
	}
	shown := time.Duration(samples) * c.period()
	if used-shown <= c.uncertain(used) {
		return nil, nil
	}
	what := "CPU time"
	if c.UserOnly {
		what += " in user mode"
	}
	return []string{fmt.Sprintf("short-lived children are missed: the target used %v of %s, and the samples show %v. "+
		"A lower frequency (-f), or the rights to sample the CPUs (root, CAP_PERFMON, or kernel.perf_event_paranoid at most 0), misses none",
		used.Round(10*time.Millisecond), what, shown.Round(10*time.Millisecond))}, nil
}

// period returns the time that a sample stands for.
func (c *Collector) period() time.Duration { return time.Second / time.Duration(c.Frequency) }
