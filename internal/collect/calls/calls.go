// Package calls counts the hits of a probe, and the time inside functions if their returns are
// probed too.
package calls

import (
	"fmt"
	"time"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/probe/pair"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profile/histogram"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Calls is the probe collector of functions whose returns are probed too. It counts how often they
// are called, and the time inside them, by the stack of the call.
//
// A call counts in the window in which it starts. Its time counts in all windows that it lasts. It
// is cut off at the end of the run, the end of its thread, or an exec. If a function calls itself,
// or another function of the same probe, the inner call's time counts with the inner stack only. So
// the sum is the time that threads were inside at all. Calls that started before the run have no
// time.
type Calls struct {
	Spec string // the probe as the user wrote it
	// sources report starts and ends of calls. A Hit is the start of a call whose end can't be
	// seen: it is only counted.
	sources []probe.Source
	stacks  stack.Stacks // of the starts of calls
	// Histogram, unless nil, gives each row a histogram of the times of calls, from entry to
	// return, in Units. Only calls that have returned are in it.
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

// NewCalls returns a Calls without a histogram.
func NewCalls(spec string, sources []probe.Source, stacks stack.Stacks) *Calls {
	c := &Calls{Spec: spec, sources: sources, stacks: stacks, Unit: time.Nanosecond, calls: pair.New[table.Row]()}
	c.calls.Gone = c.spent
	return c
}

// Plan returns one sampling per source, with a sample at every hit. Returns have no stacks.
func (c *Calls) Plan() table.Plan {
	stacks := c.stacks.Copying(stack.StormCopy)
	p := table.Plan{
		Name: "probe", Event: c.Spec, Stacks: stacks, Ordered: true, Histogram: c.Histogram,
		Metrics: []profile.Metric{
			{Name: c.Spec + "Time", Type: c.Spec + " time", Unit: "nanoseconds", Scale: 1},
			{Name: c.Spec + "Count", Type: c.Spec + " calls", Unit: "counts", Scale: 1},
		},
	}
	for i := range c.sources {
		source := &c.sources[i]
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

// Fallback returns false: there is no other way to see calls.
func (c *Calls) Fallback(error) (note string, ok bool) { return "", false }

// Skip keeps every hit.
func (c *Calls) Skip(*perfevent.Sample) bool { return false }

// Fold counts a call at its start, and its time at its end.
func (c *Calls) Fold(rows *table.Rows, sampling int, s *perfevent.Sample) {
	c.rows = rows
	c.calls.Confirm(s.CPU, c.end)
	if rows.Own(s.PID) {
		return
	}
	source := &c.sources[sampling]
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

// end adds the time of a call that has returned.
func (c *Calls) end(e pair.Ended[table.Row]) {
	c.rows.Add(e.Payload, callTime, e.Own)
	if c.Histogram != nil {
		c.rows.Observe(e.Payload, int64(time.Duration(e.End-e.Start)/c.Unit))
	}
}

// spent adds the self time of a call that is still going on or will never return.
func (c *Calls) spent(call *pair.Call[table.Row], self uint64) {
	c.rows.Add(call.Payload, callTime, self)
}

// Follow handles thread ends, exec and lost records.
func (c *Calls) Follow(rows *table.Rows, record perfevent.Record) {
	c.rows = rows
	c.calls.Handle(record)
}

// End adds the time of calls that are still going on, up to the end of the window.
func (c *Calls) End(rows *table.Rows, now uint64) {
	c.rows = rows
	c.calls.ConfirmAll(c.end)
	c.calls.Spent(now, c.spent)
	c.calls.Each(func(call *pair.Call[table.Row]) { rows.Keep(call.Payload) })
}

// Bytes returns the memory of the calls that are going on.
func (c *Calls) Bytes() int { return c.calls.Bytes() }

// Forget forgets the calls that are going on.
func (c *Calls) Forget(uint64) { c.calls.Lost() }

// CallAccount counts the calls of a run whose times are incomplete.
type CallAccount struct {
	before uint64 // returns without an entry: calls that had started before the run
	open   uint64 // calls that had not returned at the end
	left   uint64 // calls that can't return: longjmp, exit, exec, return probes that the kernel missed
	broken uint64 // calls dropped because records were lost
}

// Add adds the account of another collector.
func (a *CallAccount) Add(b CallAccount) {
	a.before, a.open, a.left, a.broken = a.before+b.before, a.open+b.open, a.left+b.left, a.broken+b.broken
}

// Phrases returns a phrase for each count that is not zero. The phrase about returns without an
// entry ends with one if there is one such return, and with many otherwise.
func (a *CallAccount) Phrases(one, many string) (phrases []string) {
	for _, p := range []struct {
		n         uint64
		one, many string
	}{
		{a.before, "return without an entry (a call that began earlier, or the child of a fork)" + one, "returns without an entry (calls that began earlier, or children of a fork)" + many},
		{a.open, "call had not returned at the end", "calls had not returned at the end"},
		{a.left, "call never returns (longjmp, exit) or was nested too deep for the kernel", "calls never return (longjmp, exit) or were nested too deep for the kernel"},
		{a.broken, "call was dropped because records were lost", "calls were dropped because records were lost"},
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

// Account returns the account of a run that is over.
func (c *Calls) Account() CallAccount {
	open, left := c.calls.Open()
	counts := &c.calls.Counts
	return CallAccount{before: counts.Unmatched, open: open, left: counts.Left + left, broken: counts.Broken}
}
