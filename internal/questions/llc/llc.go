// Package llc counts references to the last-level cache, and misses.
package llc

import (
	"errors"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// Collector is the llc collector: references to the last-level cache, and those of them
// that missed it, as the CPU counts them. Each sample stands for a period of
// events.
//
// Where the counters are shared with others and take turns, what was counted in a
// window is scaled by the time that they did not count.
type Collector struct {
	// Misses and References are perf's cache-misses and cache-references; tests
	// have others.
	Misses, References perfevent.Event
	Period             uint64 // events from one sample to the next, at least 1
	Stacks             stack.Stacks
	// UserOnly leaves the kernel out, for users who may not look into it.
	UserOnly bool

	running func() ([]perfevent.Running, error)
	last    []perfevent.Running // at the end of the window before; nil where there is none
	all     [2]perfevent.Running
}

// The columns, and the samplings.
const (
	cacheMisses = iota
	cacheReferences
)

// periodCopy is how much of the stack comes with a sample of a fast counter: as
// much as perf copies.
const periodCopy = 8 << 10

var _ table.Stateful = (*Collector)(nil)

// New makes a Collector of the CPU's own events.
func New(period uint64, stacks stack.Stacks) *Collector {
	return &Collector{
		Misses:     perfevent.Hardware(perfevent.HardwareCacheMisses),
		References: perfevent.Hardware(perfevent.HardwareCacheReferences),
		Period:     period, Stacks: stacks,
	}
}

// Plan is the two events, with the attributes that perf record -c gives them.
func (c *Collector) Plan() table.Plan {
	stacks := c.Stacks.Copying(periodCopy)
	p := table.Plan{
		Name: "llc", Event: c.Misses.String() + "," + c.References.String(), Stacks: stacks,
		Metrics: []profile.Metric{
			{Name: "CacheMissingCount", Type: "cache-misses", Unit: "counts", Scale: 1, Running: true},
			{Name: "CacheReferenceCount", Type: "cache-references", Unit: "counts", Scale: 1, Running: true},
			{Name: "CacheHitPercentage", Type: "cache-hits", Unit: "percent", Scale: 1,
				Share: &profile.Share{Missing: cacheMisses, Whole: cacheReferences}},
		},
	}
	for _, event := range []perfevent.Event{c.Misses, c.References} {
		s := perfevent.Sampling{Event: event, Period: c.Period, ExcludeKernel: c.UserOnly, ExcludeGuest: true, ByCPU: true}
		stacks.Prepare(&s)
		p.Samplings = append(p.Samplings, s)
	}
	return p
}

// Fallback leaves the kernel out where the caller may not look into it.
func (c *Collector) Fallback(err error) (note string, ok bool) {
	if errors.Is(err, perfevent.ErrKernelExcluded) && !c.UserOnly {
		c.UserOnly = true
		return "no kernel stacks or samples: " + table.Hint(err), true
	}
	return "", false
}

// Skip takes every sample: the idle task's interrupts miss the cache too.
func (c *Collector) Skip(*perfevent.Sample) bool { return false }

// Fold adds the events that a sample stands for.
func (c *Collector) Fold(rows *table.Rows, sampling int, s *perfevent.Sample) {
	if c.last == nil && c.running != nil {
		c.last = c.read()
	}
	rows.Add(rows.Of(s), sampling, s.Period)
}

// Running hands over what reads how long the plan's samplings have counted.
func (c *Collector) Running(read func() ([]perfevent.Running, error)) {
	c.running = read
	c.last = c.read()
}

// read reads how long the samplings have counted; where that can't be known, nothing
// is scaled.
func (c *Collector) read() []perfevent.Running {
	now, err := c.running()
	if err != nil || len(now) != len(c.all) {
		return make([]perfevent.Running, len(c.all))
	}
	return now
}

// allTheTime is the share of a time, in percent, that is taken for all of it: the
// two are not read at once.
const allTheTime = 99

// End scales what was counted in the window.
func (c *Collector) End(rows *table.Rows, _ uint64) {
	if c.last == nil {
		return // nobody knows, or nothing was enabled
	}
	now := c.read()
	for i := range now {
		enabled, counted := now[i].Enabled-c.last[i].Enabled, now[i].Counted-c.last[i].Counted
		c.all[i].Enabled += enabled
		c.all[i].Counted += counted
		if counted > 0 && counted < enabled/100*allTheTime {
			rows.Scale(i, uint64(enabled), uint64(counted))
		}
	}
	c.last = now
}

// Follow needs no records.
func (c *Collector) Follow(*table.Rows, perfevent.Record) {}

// Bytes is nothing.
func (c *Collector) Bytes() int { return 0 }

// Forget leaves out the time in which the events were not enabled.
func (c *Collector) Forget(uint64) { c.last = nil }

// Shared is, for misses and references, how long the counters counted in the run
// that is over.
func (c *Collector) Shared() (misses, references perfevent.Running) {
	return c.all[cacheMisses], c.all[cacheReferences]
}
