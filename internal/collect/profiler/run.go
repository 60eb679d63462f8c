package profiler

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/symbols"
)

// Options configures a run.
type Options struct {
	Target perfevent.Target
	// Source, unless nil, delivers records of the collectors' samplings instead of Target. The
	// caller closes it.
	Source engine.Source
	// Collectors say what is sampled; there is at least one. They share rings, stacks and symbols,
	// and the columns of all form one table. Run calls Fallback on them if the machine or the
	// caller's privileges require it.
	Collectors []table.Collector
	Interval   time.Duration // between two calls of Report; 0: one call, at the end
	Trigger    *Trigger      // record at alarms only, whatever the Interval; nil: all the time
	Duration   time.Duration // 0: until the context is done or the target has ended
	Whole      bool          // also make the profile of the whole run
	Lines      bool          // with source lines and inlined functions
	JVM        bool          // ask Java virtual machines for maps of their code; see package jvm
	Memory     int           // bound in bytes on the memory of distinct stacks
	Logger     *slog.Logger  // nil discards
	// DebugFiles opens separate debug files; if nil, see symbolize.Options.
	DebugFiles func(path string) (symbols.ReaderAtCloser, int64, error)

	// Armed, unless nil, is called when the events are enabled. Its error ends the run.
	Armed func() error
	// Report gets the profile of each interval, and may keep it. It is called on the reporting
	// goroutine. Its error ends the run. If it takes longer than an interval, the intervals that
	// pass meanwhile become one profile.
	Report func(*profile.Profile) error
	// Progress, unless nil, is called with the progress of the run. Two goroutines call it,
	// possibly at the same time. It must not block.
	Progress func(Progress)
}

// Progress is how far a run is. During symbolization, Named of Frames distinct frames have been
// looked up, and the other fields are 0. Otherwise Frames is 0.
type Progress struct {
	Elapsed       time.Duration // since the run started
	Samples       uint64        // in the current interval
	Named, Frames int
}

// Result is the outcome of a run.
type Result struct {
	Whole    *profile.Profile  // nil unless Options.Whole
	Accounts []profile.Account // of the whole run, one per collector
	Alarms   int               // alarms that were recorded; see Options.Trigger
	Notes    []string          // what went wrong; also in the notes of Whole: see engine.Account
}

// Run runs the collectors until the context is done, the duration is over, the target has ended or
// Report fails. The first three are no errors: everything seen until then is reported. If events
// can't be opened, the error is a *perfevent.OpenError. Otherwise it is Report's, or says what
// failed.
//
// When Run returns, its goroutines have ended and its events are closed. If the events could not be
// opened, a command started by ringtap is still held. If a later step failed before it ran, the
// command is killed.
func Run(ctx context.Context, opts Options) (*Result, error) {
	if opts.Progress == nil {
		opts.Progress = func(Progress) {}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	r := &profiling{opts: opts, source: opts.Source}
	if opts.Source != nil {
		return r.run(ctx)
	}
	var err error
	r.live, r.notes, err = open(opts.Target, opts.Collectors, perfevent.Options{Logger: opts.Logger,
		Switches: &perfevent.Switches{Sampled: opts.Trigger != nil}, Recent: opts.Trigger != nil && opts.Trigger.Before > 0})
	if err != nil {
		return nil, err
	}
	defer r.live.Close()
	r.source = r.live
	if opts.Trigger != nil {
		if r.alarms, err = newAlarms(r, *opts.Trigger); err != nil {
			return nil, err
		}
		defer r.alarms.close()
		r.source = r.alarms
	}
	return r.run(ctx)
}

// spoolBytes is how many bytes of records may wait while ringtap compiles an unwind table or reads
// a slow disk. It lasts some seconds at a thousand samples a second.
const spoolBytes = 64 << 20

// maxWaiting is how many finished windows may wait for the reporting goroutine. Each alarm makes up
// to two.
const maxWaiting = 4

type profiling struct {
	opts      Options
	plans     []table.Plan // one per collector
	source    engine.Source
	live      *engine.Live // inside source; nil with Options.Source
	notes     []string     // from open
	engine    *engine.Engine
	recorder  *table.Recorder
	begin     clocks
	growths   []stack.Growth            // one per collector
	throttles []atsample.WakeupThrottle // one per collector
	alarms    *alarms                   // nil without Options.Trigger
}

// clocks is one point in time, on the records' clock and on the wall clock.
type clocks struct {
	monotonic uint64
	wall      time.Time
}

// Dated is a Source whose records are from another time.
type Dated interface {
	// Wall returns the wall-clock time at a time of the records' clock; zero if unknown.
	Wall(at uint64) time.Time
}

// wall returns the wall-clock time at a time of the records' clock; zero if unknown.
func (r *profiling) wall(at uint64) time.Time {
	if d, ok := r.source.(Dated); ok {
		return d.Wall(at)
	}
	return r.begin.wall.Add(time.Duration(at - r.begin.monotonic))
}

func (r *profiling) run(ctx context.Context) (*Result, error) {
	userStacks, kernelStacks := false, false
	for _, collector := range r.opts.Collectors {
		plan := collector.Plan()
		first := samplings(r.plans)
		r.growths, r.throttles = append(r.growths, stack.NewGrowth(&plan.Stacks, plan.Samplings, first)), append(r.throttles, atsample.NewWakeupThrottle(plan.Samplings, plan.Urgent, first))
		r.plans = append(r.plans, plan)
		userStacks, kernelStacks = userStacks || plan.Stacks.User, kernelStacks || plan.Stacks.Kernel
	}
	var keep time.Duration
	if r.alarms != nil && r.alarms.Before > 0 {
		keep = r.alarms.Before + keepLives
	}
	var err error
	spool := spoolBytes
	if wantsInterpreted(r.plans) {
		spool += spool / 2 // samples wait until their interpreted calls are read
	}
	names := slices.ContainsFunc(r.plans, func(p table.Plan) bool { return p.Names })
	if r.engine, err = engine.Start(ctx, r.source, engine.Options{Unwind: userStacks, Keep: keep, Names: names, Calls: r.calls(),
		Duration: r.opts.Duration, Spool: spool, Unordered: r.seen(), Logger: r.opts.Logger}); err != nil {
		return nil, err
	}
	defer r.engine.Close()
	_, examplesOf := examples(r.opts.Target, r.plans, r.alarms != nil && r.alarms.Before > 0)
	windows := make(chan *table.Window, maxWaiting)
	r.begin = clocks{monotonic: r.source.Now(), wall: time.Now()}
	r.recorder = table.NewRecorder(r.opts.Collectors, r.engine.Processes(), r.begin.monotonic, table.Options{
		End: r.end(), Interval: uint64(r.opts.Interval), Whole: r.opts.Whole, Memory: r.opts.Memory,
		Self: self(r.source), Spans: r.alarms != nil, Examples: examplesOf,
		SampleReader: r.sampleReader(), Names: r.engine.Names(),
		Emit: func(w *table.Window) { windows <- w },
		Ready: func() bool {
			// If reports are slow, windows get longer instead of waiting, so that little is left to
			// report after the end. A recording (Options.Source) waits for its reports instead.
			return r.live == nil || len(windows) == 0
		},
	})
	if r.alarms != nil {
		r.alarms.ready = func(n int) bool { return len(windows)+n <= cap(windows) }
	}
	if r.live != nil {
		r.meter()
	}
	r.engine.Prepare(r.recorder.Prepare)
	starts := r.live != nil && r.alarms == nil
	if starts {
		r.recorder.Starting()
		r.begin = clocks{monotonic: r.source.Now(), wall: time.Now()}
		r.recorder.Postpone(r.begin.monotonic, r.end())
	}
	defer r.startClock()()
	if err := r.engine.Enable(); err != nil {
		return nil, err
	}
	if starts {
		r.recorder.Started()
	}
	if r.opts.Armed != nil {
		if err := r.opts.Armed(); err != nil {
			return nil, err
		}
	}
	reporter := newReporter(r)
	defer reporter.close()
	if kernelStacks && r.alarms == nil {
		reporter.symbolizer.ReadAhead()
	}
	reported := make(chan error, 1)
	go func() { reported <- reporter.report(windows) }()

	err = r.engine.Run(tables{r.recorder, r})
	r.logUsage()
	whole := r.recorder.Finish(r.source.Now())
	close(windows)
	if err := errors.Join(err, <-reported); err != nil {
		return nil, err
	}
	return r.result(reporter, whole)
}

// result makes the Result. It runs after the reporting goroutine has ended.
func (r *profiling) result(reporter *reporter, whole *table.Window) (*Result, error) {
	result := &Result{}
	if whole != nil {
		reporter.machines.name(whole)
		result.Whole = reporter.profile(whole)
		r.compareClock(result.Whole)
		reporter.unknown = result.Whole.Accounts[0].Unknown
	}
	account, err := r.source.Account()
	if err != nil {
		return nil, err
	}
	result.Accounts, result.Notes = r.accounts(&account, reporter.unknown), account.Notes()
	if whole != nil {
		result.Whole.Accounts = result.Accounts
		result.Whole.Notes = append(result.Whole.Notes, result.Notes...)
	}
	if r.alarms != nil {
		result.Alarms = r.alarms.count
		r.alarms.describe(result.Whole)
	}
	return result, nil
}

// accounts returns the accounts of the whole run, by the kernel's own counts. Frames without a name
// are counted for all collectors together, in the first account.
func (r *profiling) accounts(account *engine.Account, unknown uint64) []profile.Account {
	first := 0
	var all []profile.Account
	for i, c := range r.recorder.Counts() {
		plan := &r.plans[i]
		s := account.Sum(first, len(plan.Samplings))
		all = append(all, profile.Account{Event: plan.Event, Exact: s.Exact,
			Received: s.Received, Lost: s.Lost, Others: s.Filtered, Throttled: s.Throttled, Overwritten: s.Overwritten,
			Counted: s.Counted - min(s.Counted, s.Duplicates+s.Filtered),
			LeftOut: c.LeftOut, Stacks: c.Stacks, Truncated: c.Truncated - c.Joined, Joined: c.Joined, Early: c.Early, Broken: c.Broken, Unmapped: c.Unmapped, Unkept: c.Unkept, Unknown: unknown})
		first, unknown = first+len(plan.Samplings), 0
	}
	return all
}

// logUsage logs how much CPU time the run has used so far, without symbols and output.
func (r *profiling) logUsage() {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err == nil {
		r.opts.Logger.Info("recording done", "user", time.Duration(usage.Utime.Nano()), "system", time.Duration(usage.Stime.Nano()))
	}
}

// samplings returns how many samplings plans have.
func samplings(plans []table.Plan) (n int) {
	for i := range plans {
		n += len(plans[i].Samplings)
	}
	return n
}

// tables is the sink of a run.
type tables struct {
	*table.Recorder
	run *profiling
}

// Round adapts the copies of the stack and the helper's wake-ups, and reports progress.
func (t tables) Round(before uint64) error {
	r := t.run
	if before <= r.begin.monotonic {
		return nil
	}
	var counts []table.Counts
	var samples uint64
	r.engine.Locked(func() { counts, samples = t.Counts(), t.Samples() })
	if r.live != nil {
		for i, own := range counts {
			own.Lost = counts[0].Lost // nobody knows whose they were
			if calls := r.engine.Calls(); calls != nil {
				r.throttles[i].Adjust(calls, atsample.Hits{All: own.Stacked, Urgent: own.Urgent}, before)
			}
			r.growths[i].Look(r.live, stack.GrowthCounts{Stacks: own.Stacks, Cut: own.Truncated, Joined: own.Joined, Lost: own.Lost},
				before, r.opts.Logger)
		}
	}
	r.opts.Progress(Progress{Elapsed: time.Duration(before - r.begin.monotonic), Samples: samples})
	return nil
}

// self returns ringtap's own PID, or one that no process has if the source is a recording.
func self(source engine.Source) uint32 {
	if source.Host().Recording != nil {
		return 1 << 31
	}
	return uint32(os.Getpid())
}

// end returns when the run's duration is over, on the records' clock; 0 without a duration.
func (r *profiling) end() uint64 {
	if r.opts.Duration == 0 {
		return 0
	}
	return r.begin.monotonic + uint64(r.opts.Duration)
}
