package profiler

import (
	"time"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/profile"
)

// clocked returns the collector of a live run if it is the only one and its samples are CPU time.
// Otherwise it returns nil. So it does for runs with alarms: nothing is sampled between alarms, so
// that there is nothing to compare.
func (r *profiling) clocked() table.Clocked {
	if len(r.opts.Collectors) != 1 || r.live == nil || r.alarms != nil {
		return nil
	}
	c, _ := r.opts.Collectors[0].(table.Clocked)
	return c
}

// startClock reads the kernel's count of CPU time now, and again when the run ends. The second
// reading is before the last record has been handled. The caller calls stop when the run is over.
func (r *profiling) startClock() (stop func() bool) {
	c := r.clocked()
	if c == nil {
		return func() bool { return true }
	}
	c.StartClock()
	return r.engine.AtEnd(c.StopClock)
}

// compareClock adds the kernel's count of CPU time to a profile of the whole run. It adds a note if
// the samples differ from it and the report does not explain that already.
func (r *profiling) compareClock(p *profile.Profile) {
	c := r.clocked()
	if c == nil {
		return
	}
	c.StopClock() // the target has ended
	p.CPUTime = c.CPUTime(p)
	var samples uint64
	for i := range p.Rows {
		samples += p.Rows[i].Values[0]
	}
	if p.Accounts[0].Lost+p.Accounts[0].Throttled > 0 {
		return
	}
	if note := c.DiffersNote(time.Duration(samples*p.Metrics[0].Scale), p.CPUTime); note != "" {
		p.Notes = append(p.Notes, note)
	}
}
