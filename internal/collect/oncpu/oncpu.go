// Package oncpu is the collector of CPU time. It samples what runs, at a fixed frequency.
package oncpu

import (
	"errors"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Collector is the on-cpu collector: samples of what runs, at a fixed frequency. Each sample counts
// once.
type Collector struct {
	Event     perfevent.Event
	Frequency uint64 // samples per second and CPU, from 1 to 1e9
	idle      bool   // sample the idle task too
	Stacks    stack.Stacks
	// UserOnly excludes the kernel, for users who may not sample it.
	UserOnly bool
	// Watched are the processes whose CPU time is compared with the samples; nil if the target is
	// not processes.
	Watched []int
	// Started says that the only process in Watched is a command that starts with the run.
	Started bool

	missed missed
	clock  clock
}

// Plan returns one sampling. Its period is rounded down to a nanosecond.
func (c *Collector) Plan() table.Plan {
	s := perfevent.Sampling{
		Event:         c.Event,
		Frequency:     c.Frequency,
		ExcludeKernel: c.UserOnly,
		ByCPU:         true,
		// Hardware events do not count while the CPU idles, and not every driver can exclude the
		// idle task.
		ExcludeIdle: !c.idle && c.Event == perfevent.CPUClock(),
	}
	c.Stacks.Prepare(&s)
	period := c.period()
	return table.Plan{
		Name: "on-cpu", Event: c.Event.String(), Period: period,
		Samplings: []perfevent.Sampling{s},
		Stacks:    c.Stacks,
		Metrics:   []profile.Metric{{Name: "OnCPUTime", Type: "samples", Unit: "nanoseconds", Scale: uint64(period), Running: true}},
	}
}

// Fallback uses the clock if the machine has no hardware counters. It excludes the kernel if the
// caller may not sample it.
func (c *Collector) Fallback(err error) (note string, ok bool) {
	switch {
	case errors.Is(err, perfevent.ErrNoEvent) && c.Event != perfevent.CPUClock():
		c.Event = perfevent.CPUClock()
		return "", true // every report names the event
	case errors.Is(err, perfevent.ErrKernelExcluded) && !c.UserOnly:
		c.UserOnly = true
		return "no kernel stacks or samples: " + table.Hint(err), true
	}
	return "", false
}

// Skip leaves out the idle task, in case the kernel did not.
func (c *Collector) Skip(s *perfevent.Sample) bool { return s.PID == 0 && !c.idle }

// Fold counts a sample.
func (c *Collector) Fold(rows *table.Rows, _ int, s *perfevent.Sample) {
	c.missed.samples++
	rows.Add(rows.Of(s), 0, 1)
}
