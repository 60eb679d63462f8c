package profiler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/runtimes/advice"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
)

// reporter symbolizes windows and reports them. The reporting goroutine uses it while windows come,
// and the caller's goroutine after that.
type reporter struct {
	run        *profiling
	symbolizer *symbolize.Symbolizer
	unknown    uint64 // frames without a name in the window that had the most
	runtimes   advice.Seen
	machines   virtualMachines
}

// newReporter returns the reporter of a run whose engine has started.
func newReporter(r *profiling) *reporter {
	return &reporter{run: r, symbolizer: symbolize.New(symbolize.Options{Lines: r.opts.Lines, Memory: r.opts.Memory,
		Late: r.engine.Late(), Host: r.source.Host(), DebugFiles: r.opts.DebugFiles, Logger: r.opts.Logger})}
}

// close closes the files of symbols and maps.
func (r *reporter) close() {
	r.machines.close()
	if err := r.symbolizer.Close(); err != nil {
		r.run.opts.Logger.Info("close debug files", "error", err)
	}
}

// report reports windows until the channel is closed. The first error ends the run and is returned;
// later windows are dropped.
func (r *reporter) report(windows <-chan *table.Window) error {
	var failed error
	for w := range windows {
		if failed != nil {
			continue
		}
		var notes []string
		if r.run.opts.JVM {
			notes = r.machines.writeMaps(w)
		}
		p := r.profile(w)
		p.Notes = append(p.Notes, notes...)
		r.unknown = max(r.unknown, p.Accounts[0].Unknown)
		if interval := r.run.opts.Interval; interval > 0 && p.Duration > interval && r.run.alarms == nil {
			p.Notes = append(p.Notes, fmt.Sprintf("the output could not keep up: these tables are of %v", p.Duration))
		}
		if r.run.source.Host().Recording != nil {
			p.Notes = append(p.Notes, missingFiles(w, r.run.source.Host().Recording)...)
		}
		p.Notes = append(p.Notes, r.runtimes.Notes(p)...)
		if r.run.opts.Interval == 0 {
			r.run.compareClock(p)
		}
		noteLosses(p, r.run.plans, r.run.live != nil && r.run.live.WatchesOthers(0), r.run.opts.Interval > 0)
		p.Details = append(p.Details, foreign(w, r.run.source.Host().Arch())...)
		if failed = r.run.opts.Report(p); failed != nil {
			r.run.engine.End()
		}
	}
	return failed
}

// noteLosses notes that a window lost records if nobody can say whose they were: the rings also
// have samples of other collectors or of other processes (others), or records of context switches.
// The kernel counts each event's losses, but only for the whole run. So the note has no number; the
// run's account has it.
//
// A run with one report (not several) needs no note.
func noteLosses(p *profile.Profile, plans []table.Plan, others, several bool) {
	shared := len(plans) > 1 || plans[0].Switches || others
	lost := &p.Accounts[0].Lost
	if *lost == 0 || !shared {
		return
	}
	*lost = 0
	if several {
		p.Notes = append(p.Notes, "records of this interval were lost; the end of the run says how many")
	}
}

// foreign returns a note about 32-bit programs whose stacks are not unwound.
func foreign(w *table.Window, host callchain.Arch) []string {
	var n uint64
	for i := range w.Counts {
		n += w.Counts[i].Foreign
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d samples are of 32-bit programs, whose stacks ringtap does not unwind on %s: "+
		"they have the callers that the kernel finds by frame pointers", n, host)}
}

// profile symbolizes a window and makes a profile of it.
func (r *reporter) profile(w *table.Window) *profile.Profile {
	p := r.symbolizer.Profile(&w.Set, func(named, frames int) {
		r.run.opts.Progress(Progress{Named: named, Frames: frames})
	})
	p.Duration, p.Rows, p.Processes = time.Duration(w.End-w.Start), w.Rows, w.Processes
	var names, events []string
	for i := range r.run.plans {
		plan := &r.run.plans[i]
		names, events = append(names, plan.Name), append(events, plan.Event)
		p.Metrics = appendMetrics(p.Metrics, plan.Metrics)
		p.Period = plan.Period
		p.Accounts = append(p.Accounts, account(plan, w.Counts[i]))
	}
	p.Who = r.run.plans[0].Who
	if len(r.run.plans) > 1 {
		p.Period, p.Who = 0, ""
	}
	p.Collector, p.Event = strings.Join(slices.Compact(names), " "), strings.Join(events, " ")
	p.Accounts[0].Unknown = unknown(p)
	p.Start = r.run.wall(w.Start)
	p.Notes = append(append(p.Notes, r.run.notes...), w.Notes...)
	p.Notes, p.Details = append(p.Notes, probed(p)...), append(r.run.interpretedNotes(w), w.Details...)
	return p
}

// probed returns a note about stacks that contain probes of another tracer. A return probe hides
// where a function returns to. The kernel also executes copies of probed instructions outside the
// program's code.
func probed(p *profile.Profile) []string {
	const uprobes = "[uprobes]" // the kernel's name for the mapping of both
	stacks := 0
	for i := range p.Rows {
		if user := p.Rows[i].User; user != profile.None && slices.ContainsFunc(p.Stacks[user].Frames, func(f int) bool {
			return p.Objects[p.Frames[f].Object].Path == uprobes
		}) {
			stacks++
		}
	}
	if stacks == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d stacks have probes of another tracer in them: [uretprobe] stands for callers that a return probe hides, [uprobe] for a probed instruction",
		stacks, len(p.Rows))}
}

// appendMetrics appends the metrics of a plan. It shifts the column numbers in their shares.
func appendMetrics(all, plan []profile.Metric) []profile.Metric {
	before := len(all)
	for _, m := range plan {
		if m.Share != nil {
			m.Share = &profile.Share{Missing: before + m.Share.Missing, Whole: before + m.Share.Whole}
		}
		all = append(all, m)
	}
	return all
}

// account returns a collector's account of one window. The kernel's counts, and the exact losses,
// are known for the whole run only.
func account(plan *table.Plan, c table.Counts) profile.Account {
	return profile.Account{Event: plan.Event, Received: c.Samples + c.LeftOut, Lost: c.Lost, LeftOut: c.LeftOut,
		Stacks: c.Stacks, Truncated: c.Truncated - c.Joined, Joined: c.Joined, Early: c.Early, Broken: c.Broken, Unmapped: c.Unmapped, Unkept: c.Unkept}
}

// unknown returns the number of frames without a name.
func unknown(p *profile.Profile) (n uint64) {
	for i := range p.Frames {
		if p.Frames[i].Name == "" || p.Frames[i].Unnamed {
			n++
		}
	}
	return n
}
