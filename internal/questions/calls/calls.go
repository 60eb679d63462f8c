// Package calls counts the hits of a probe, and the time inside the functions that are
// probed.
package calls

import (
	"fmt"
	"time"

	"github.com/ringtap/ringtap/internal/histogram"
	"github.com/ringtap/ringtap/internal/pair"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// Calls is the probe collector of functions whose returns are probed as well: how
// often they are called, and the time inside them, by the stack of the call.
//
// A call counts in the window in which it begins, its time in those that it lasts:
// up to the end of a window, of its thread, or to another program that is executed.
// Of a function that calls itself, or another of the same probe, the inner call's
// time counts with the inner stack, and not with the outer's: the sum is the time
// in which a thread was inside at all. The time of calls that began before the run
// is not counted.
type Calls struct {
	Spec string // the probe as its user named it
	// Sources see calls begin and end. A Hit is a call that begins whose end can't be
	// seen: it is counted.
	Sources []probe.Source
	Stacks  stack.Stacks // of the places where calls begin
	// Histogram, unless nil, has rows have one of the times of calls that ended, from entry
	// to return, in Units.
	Histogram *histogram.Scale
	Unit      time.Duration

	calls *pair.Calls[table.Row]
	rows  *table.Rows
}

// The columns of Calls.
const (
	callTime = iota
	callCount
)

var _ table.Stateful = (*Calls)(nil)

// NewCalls makes a Calls without a histogram.
func NewCalls(spec string, sources []probe.Source, stacks stack.Stacks) *Calls {
	c := &Calls{Spec: spec, Sources: sources, Stacks: stacks, Unit: time.Nanosecond, calls: pair.New[table.Row]()}
	c.calls.Gone = c.spent
	return c
}

// Plan is one sampling for each source, every hit of which is a sample. Those of
// returns have no stacks.
func (c *Calls) Plan() table.Plan {
	stacks := c.Stacks.Copying(stack.StormCopy)
	p := table.Plan{
		Name: "probe", Event: c.Spec, Stacks: stacks, Ordered: true, Histogram: c.Histogram,
		Metrics: []profile.Metric{
			{Name: c.Spec + "Time", Type: c.Spec + " time", Unit: "nanoseconds", Scale: 1},
			{Name: c.Spec + "Count", Type: c.Spec + " calls", Unit: "counts", Scale: 1},
		},
	}
	for i := range c.Sources {
		source := &c.Sources[i]
		s := source.Sampling()
		if source.Role != probe.Return {
			stacks.Prepare(&s)
		}
		if source.Role != probe.Hit {
			source.Site.Prepare(&s)
		}
		p.Samplings = append(p.Samplings, s)
	}
	return p
}

// Fallback knows no other way to see calls.
func (c *Calls) Fallback(error) (note string, ok bool) { return "", false }

// Skip takes every hit.
func (c *Calls) Skip(*perfevent.Sample) bool { return false }

// Fold counts a call that begins, and the time of one that ends.
func (c *Calls) Fold(rows *table.Rows, sampling int, s *perfevent.Sample) {
	c.rows = rows
	c.calls.Confirm(s.CPU, c.end)
	if rows.Own(s.PID) {
		return
	}
	source := &c.Sources[sampling]
	if source.Role == probe.Return {
		task, slot := source.Site.Place(s)
		if ended, ok := c.calls.Leave(task, source.Function, slot, s.Time); ok && !c.calls.Hold(ended, s.CPU) {
			c.end(ended)
		}
		return
	}
	row := rows.Of(s)
	rows.Add(row, callCount, 1)
	if source.Role == probe.Enter {
		task, slot := source.Site.Place(s)
		c.calls.Enter(task, pair.Call[table.Row]{Function: source.Function, Slot: slot, Start: s.Time, CPU: s.CPU, Payload: row})
	}
}

// end counts the time of a call that has ended.
func (c *Calls) end(e pair.Ended[table.Row]) {
	c.rows.Add(e.Payload, callTime, e.Own)
	if c.Histogram != nil {
		c.rows.Observe(e.Payload, int64(time.Duration(e.End-e.Start)/c.Unit))
	}
}

// spent counts time of a call that goes on, or has no return.
func (c *Calls) spent(call *pair.Call[table.Row], own uint64) {
	c.rows.Add(call.Payload, callTime, own)
}

// Follow sees threads end and execute programs, and losses.
func (c *Calls) Follow(rows *table.Rows, record perfevent.Record) {
	c.rows = rows
	c.calls.Handle(record)
}

// End adds the time of the calls that go on, up to the end of the window.
func (c *Calls) End(rows *table.Rows, now uint64) {
	c.rows = rows
	c.calls.ConfirmAll(c.end)
	c.calls.Spent(now, c.spent)
	c.calls.Each(func(call *pair.Call[table.Row]) { rows.Keep(call.Payload) })
}

// Bytes is what the calls that go on take.
func (c *Calls) Bytes() int { return c.calls.Bytes() }

// Forget forgets the calls that go on.
func (c *Calls) Forget(uint64) { c.calls.Lost() }

// CallAccount says which calls' times are not whole, of a run that is over.
type CallAccount struct {
	Before uint64 // returns without an entry: calls that had begun before the run
	Open   uint64 // calls that had not returned at its end
	Left   uint64 // calls that can have no return: longjmp, exit, exec, return probes the kernel missed
	Broken uint64 // calls given up because records were lost
}

// Add adds the account of another collector.
func (a *CallAccount) Add(b CallAccount) {
	a.Before, a.Open, a.Left, a.Broken = a.Before+b.Before, a.Open+b.Open, a.Left+b.Left, a.Broken+b.Broken
}

// Phrases says each of the counts that is not zero; what is said of one return without an
// entry, and of many, follows those.
func (a *CallAccount) Phrases(one, many string) (phrases []string) {
	for _, p := range []struct {
		n         uint64
		one, many string
	}{
		{a.Before, "return without an entry (a call that began earlier, or the child of a fork)" + one, "returns without an entry (calls that began earlier, or children of a fork)" + many},
		{a.Open, "call had not returned at the end", "calls had not returned at the end"},
		{a.Left, "call never returns (longjmp, exit) or was nested too deep for the kernel", "calls never return (longjmp, exit) or were nested too deep for the kernel"},
		{a.Broken, "call was dropped because records were lost", "calls were dropped because records were lost"},
	} {
		switch {
		case p.n == 1:
			phrases = append(phrases, "1 "+p.one)
		case p.n > 1:
			phrases = append(phrases, fmt.Sprintf("%d %s", p.n, p.many))
		}
	}
	return phrases
}

// Account is the account of the run, when it is over.
func (c *Calls) Account() CallAccount {
	open, left := c.calls.Open()
	counts := &c.calls.Counts
	return CallAccount{Before: counts.Unmatched, Open: open, Left: counts.Left + left, Broken: counts.Broken}
}
