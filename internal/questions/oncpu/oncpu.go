// Package oncpu is the collector of CPU time: samples, at a fixed frequency, of what runs.
package oncpu

import (
	"errors"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// Collector is the on-cpu collector: samples at a fixed frequency of whatever runs,
// one count for each.
type Collector struct {
	Event     perfevent.Event
	Frequency uint64 // samples per second and CPU, from 1 to 1e9
	Idle      bool   // sample the idle task too
	Stacks    stack.Stacks
	// UserOnly leaves the kernel out of the sampling, for users who may not
	// look into it.
	UserOnly bool
	// Watched are the processes whose CPU time the samples are compared with, where the
	// events can't watch the CPUs; nil for other targets than processes.
	Watched []int
	// Started says that the one process in Watched is a command that begins with the run.
	Started bool

	missed missed
	clock  clock
}

// Plan is one sampling, whose samples stand for a time, to the nanosecond below.
func (c *Collector) Plan() table.Plan {
	s := perfevent.Sampling{
		Event:         c.Event,
		Frequency:     c.Frequency,
		ExcludeKernel: c.UserOnly,
		ByCPU:         true,
		// Hardware events stand still while the CPU idles; not every driver
		// can be asked to leave the idle task out.
		ExcludeIdle: !c.Idle && c.Event == perfevent.CPUClock(),
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

// Fallback falls back to the clock where the machine shows no hardware counters,
// and to user mode where the caller may not look into the kernel.
func (c *Collector) Fallback(err error) (note string, ok bool) {
	switch {
	case errors.Is(err, perfevent.ErrNoEvent) && c.Event != perfevent.CPUClock():
		c.Event = perfevent.CPUClock()
		return "", true // which of the two it is stands in every report
	case errors.Is(err, perfevent.ErrKernelExcluded) && !c.UserOnly:
		c.UserOnly = true
		return "no kernel stacks or samples: " + table.Hint(err), true
	}
	return "", false
}

// Skip leaves the idle task out where the kernel was not asked to.
func (c *Collector) Skip(s *perfevent.Sample) bool { return s.PID == 0 && !c.Idle }

// Fold counts a sample.
func (c *Collector) Fold(rows *table.Rows, _ int, s *perfevent.Sample) {
	c.missed.samples++
	rows.Add(rows.Of(s), 0, 1)
}
