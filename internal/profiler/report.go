package profiler

import (
	"context"
	"time"

	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/symbolize"
)

// reporter symbolizes windows and hands them on. It belongs to the reporting
// goroutine while windows come, and to the reading one after that.
type reporter struct {
	run        *run
	symbolizer *symbolize.Symbolizer
	counts     collect.Counts // of all windows
	unknown    uint64         // frames without a name, of the window that had most
}

// report reports windows until there are no more. The first error ends the run;
// what comes after it is not reported.
func (r *reporter) report(windows <-chan *collect.Window, cancel context.CancelCauseFunc) error {
	var failed error
	for w := range windows {
		r.counts.Add(w.Counts)
		if failed != nil {
			continue
		}
		p := r.profile(w)
		r.unknown = max(r.unknown, p.Accounts[0].Unknown)
		if failed = r.run.opts.Report(p); failed != nil {
			cancel(failed)
		}
	}
	return failed
}

// profile finishes a window.
func (r *reporter) profile(w *collect.Window) *profile.Profile {
	c := r.run.opts.Collector
	p := r.symbolizer.Profile(w, func(named, frames int) {
		r.run.opts.Progress(Progress{Named: named, Frames: frames})
	})
	p.Collector = c.Name()
	p.Event = c.Event.String()
	p.Period = c.Period()
	p.Metrics = c.Metrics()
	p.Start = r.run.begin.wall.Add(time.Duration(w.Start - r.run.begin.monotonic))
	p.Notes = append(p.Notes, r.run.notes...)
	p.Accounts = []profile.Account{account(p, w.Counts)}
	return p
}

// account is the bookkeeping of one window. What the kernel counted and lost is
// known for the whole run only.
func account(p *profile.Profile, c collect.Counts) profile.Account {
	a := profile.Account{Event: p.Event, Received: c.Samples + c.LeftOut, Lost: c.Lost, LeftOut: c.LeftOut, Truncated: c.Truncated, Broken: c.Broken, Unkept: c.Unkept}
	for i := range p.Frames {
		if p.Frames[i].Name == "" {
			a.Unknown++
		}
	}
	return a
}
