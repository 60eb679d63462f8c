package profiler

import (
	"fmt"
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
	unknown    uint64 // frames without a name, of the window that had most
}

func newReporter(r *run) *reporter {
	return &reporter{run: r, symbolizer: symbolize.New(symbolize.Options{
		Lines: r.opts.Lines, Kallsyms: "/proc/kallsyms", Logger: r.opts.Logger})}
}

// close frees what symbols were read from.
func (r *reporter) close() {
	if err := r.symbolizer.Close(); err != nil {
		r.run.opts.Logger.Info("close debug files", "error", err)
	}
}

// report reports windows until there are no more. The first error ends the run
// by cancel and is returned; windows that come after it are dropped.
func (r *reporter) report(windows <-chan *collect.Window, cancel func()) error {
	var failed error
	for w := range windows {
		if failed != nil {
			continue
		}
		p := r.profile(w)
		r.unknown = max(r.unknown, p.Accounts[0].Unknown)
		if interval := r.run.opts.Interval; interval > 0 && p.Duration > interval {
			p.Notes = append(p.Notes, fmt.Sprintf("the output could not keep up: these tables are of %v", p.Duration))
		}
		if failed = r.run.opts.Report(p); failed != nil {
			cancel()
		}
	}
	return failed
}

// profile finishes a window.
func (r *reporter) profile(w *collect.Window) *profile.Profile {
	plan := &r.run.plan
	p := r.symbolizer.Profile(w, func(named, frames int) {
		r.run.opts.Progress(Progress{Named: named, Frames: frames})
	})
	p.Collector = plan.Name
	p.Event = plan.Event
	p.Period = plan.Period
	p.Metrics = plan.Metrics
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
