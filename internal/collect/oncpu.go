package collect

import (
	"time"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/perfevent"
)

// OnCPU is the on-cpu collector: samples at a fixed frequency of whatever runs,
// one count for each.
type OnCPU struct {
	Event     perfevent.Event
	Frequency uint64 // samples per second and CPU, from 1 to 1e9
	Idle      bool   // sample the idle task too
	Stacks    Stacks
	// UserOnly leaves the kernel out of the sampling, for users who may not
	// look into it.
	UserOnly bool
}

// Name is the command's name.
func (c *OnCPU) Name() string { return "on-cpu" }

// Samplings is what the collector opens.
func (c *OnCPU) Samplings() []perfevent.Sampling {
	s := perfevent.Sampling{
		Event:         c.Event,
		Frequency:     c.Frequency,
		ExcludeKernel: c.UserOnly,
		// Hardware events stand still while the CPU idles; not every driver
		// can be asked to leave the idle task out.
		ExcludeIdle: !c.Idle && c.Event == perfevent.CPUClock(),
	}
	c.Stacks.ask(&s)
	return []perfevent.Sampling{s}
}

// Period is the time that one sample stands for, to the nanosecond below.
func (c *OnCPU) Period() time.Duration { return time.Second / time.Duration(c.Frequency) }

// Metrics are the collector's columns.
func (c *OnCPU) Metrics() []profile.Metric {
	return []profile.Metric{{Name: "OnCPUTime", Type: "samples", Unit: "nanoseconds", Scale: uint64(c.Period())}}
}

// Skip leaves the idle task out where the kernel was not asked to.
func (c *OnCPU) Skip(s *perfevent.Sample) bool { return s.PID == 0 && !c.Idle }

// Fold counts a sample.
func (c *OnCPU) Fold(row []uint64, _ *perfevent.Sample) { row[0]++ }
