package profiler

import (
	"context"
	"time"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/table"
)

// clocked returns the only collector of a live run if its samples are CPU time, and nil
// otherwise. Between two alarms nothing is sampled, and there is nothing to compare.
func (r *profiling) clocked() table.Clocked {
	if len(r.opts.Collectors) != 1 || r.live == nil || r.alarms != nil {
		return nil
	}
	c, _ := r.opts.Collectors[0].(table.Clocked)
	return c
}

// startClock reads the kernel's count of CPU time now and when the run ends: at the end of
// its duration or when ctx is done, and not when the last record has been handled. The
// caller calls release when the run is over.
func (r *profiling) startClock(ctx context.Context) (release func()) {
	c := r.clocked()
	if c == nil {
		return func() {}
	}
	c.StartClock()
	cancel := func() {}
	if r.opts.Duration > 0 {
		ctx, cancel = context.WithTimeout(ctx, r.opts.Duration)
	}
	stop := context.AfterFunc(ctx, c.StopClock)
	return func() {
		stop()
		cancel()
	}
}

// compareClock adds the kernel's count of CPU time to a profile of the whole run, and a
// note if the samples differ from it for a reason that the report does not tell otherwise.
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
