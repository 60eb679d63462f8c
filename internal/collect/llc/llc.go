// Package llc counts references to the last-level cache, and misses.
package llc

import (
	"errors"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Collector is the llc collector: references to the last-level cache, and how many of them missed,
// as counted by the CPU. Each sample stands for a period of events.
//
// If the counters are multiplexed, the counts of a window are scaled up to the whole window.
type Collector struct {
	// Misses and References are perf's cache-misses and cache-references. Tests replace them.
	Misses, References perfevent.Event
	period             uint64 // events per sample, at least 1
	stacks             stack.Stacks
	// userOnly excludes the kernel, for users who may not sample it.
	userOnly bool

	running func() ([]perfevent.Running, error)
	last    []perfevent.Running // at the end of the previous window; nil if unknown
	all     [2]perfevent.Running
}

// The columns. The samplings have the same indexes.
const (
	cacheMisses = iota
	cacheReferences
)

// periodCopy is how many bytes of stack each sample carries. perf copies as many.
const periodCopy = 8 << 10

var _ table.Stateful = (*Collector)(nil)

// New returns a Collector of the CPU's own events.
func New(period uint64, stacks stack.Stacks) *Collector {
	return &Collector{
		Misses:     perfevent.Hardware(perfevent.HardwareCacheMisses),
		References: perfevent.Hardware(perfevent.HardwareCacheReferences),
		period:     period, stacks: stacks,
	}
}

// Plan returns the two events, with the attributes that perf record -c gives them.
func (c *Collector) Plan() table.Plan {
	stacks := c.stacks.Copying(periodCopy)
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
		s := perfevent.Sampling{Event: event, Period: c.period, ExcludeKernel: c.userOnly, ExcludeGuest: true, ByCPU: true}
		stacks.Prepare(&s)
		p.Samplings = append(p.Samplings, s)
	}
	return p
}

// Fallback excludes the kernel if the caller may not sample it.
func (c *Collector) Fallback(err error) (note string, ok bool) {
	if errors.Is(err, perfevent.ErrKernelExcluded) && !c.userOnly {
		c.userOnly = true
		return "no kernel stacks or samples: " + table.Hint(err), true
	}
	return "", false
}

// Skip keeps every sample: interrupts of the idle task miss the cache too.
func (c *Collector) Skip(*perfevent.Sample) bool { return false }

// Fold counts as many events as the sample stands for.
func (c *Collector) Fold(rows *table.Rows, sampling int, s *perfevent.Sample) {
	if c.last == nil && c.running != nil {
		c.last = c.read()
	}
	rows.Add(rows.Of(s), sampling, s.Period)
}

// Running implements table.Metered.
func (c *Collector) Running(read func() ([]perfevent.Running, error)) {
	c.running = read
	c.last = c.read()
}

// read returns how long each sampling has counted. If that is unknown, it returns zeros, so that
// nothing is scaled.
func (c *Collector) read() []perfevent.Running {
	now, err := c.running()
	if err != nil || len(now) != len(c.all) {
		return make([]perfevent.Running, len(c.all))
	}
	return now
}

// allTheTime is in percent. A counter that was active for at least this share of a window is not
// scaled: its two times are not read at the same instant.
const allTheTime = 99

// End scales the counts of the window.
func (c *Collector) End(rows *table.Rows, _ uint64) {
	if c.last == nil {
		return // the times are unknown, or nothing was enabled
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

// Follow does nothing.
func (c *Collector) Follow(*table.Rows, perfevent.Record) {}

// Bytes returns 0.
func (c *Collector) Bytes() int { return 0 }

// Forget makes the next window ignore the time in which the events were disabled.
func (c *Collector) Forget(uint64) { c.last = nil }

// Shared returns how long the two counters were enabled, and how long they counted, in a run that
// is over.
func (c *Collector) Shared() (misses, references perfevent.Running) {
	return c.all[cacheMisses], c.all[cacheReferences]
}
