package profiler

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/moment"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/run"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/symbols"
)

// Options is what a run does.
type Options struct {
	Target perfevent.Target
	// Source, unless nil, has records of the collectors' samplings, in place of the target.
	// It stays the caller's.
	Source run.Source
	// Collectors say what is sampled, at least one. They share rings, stacks and
	// symbols, and their columns stand side by side. Run has them retreat to
	// what the machine and the caller's privileges allow.
	Collectors []table.Collector
	Interval   time.Duration // between two calls of Report; 0: one call, at the end
	Trigger    *Trigger      // records at alarms only, whatever the Interval; nil: all the time
	Duration   time.Duration // 0: until the context is done or the target has ended
	Whole      bool          // also make the profile of the whole run
	Lines      bool          // source lines and inlined functions
	JVM        bool          // have Java virtual machines write maps of their code; see package jvm
	Memory     int           // bound in bytes of what distinct stacks take
	Logger     *slog.Logger  // nil discards
	// DebugFiles opens separate debug files; nil: see symbolize.Options.
	DebugFiles func(path string) (symbols.ReaderAtCloser, int64, error)

	// Armed, unless nil, is called when samples come. Its error ends the run.
	Armed func() error
	// Report is given the profile of each interval, to keep, on the reporting
	// goroutine. Its error ends the run. While it takes longer than some
	// intervals, the next ones are one profile.
	Report func(*profile.Profile) error
	// Progress, unless nil, is told from both goroutines, at times at once,
	// how far the run is. It must not block.
	Progress func(Progress)
}

// Progress is how far a run is: while symbolizing Named of Frames distinct
// frames have been looked up, and the rest is zero; else Frames is zero.
type Progress struct {
	Elapsed       time.Duration // since the run began
	Samples       uint64        // in the interval under way
	Named, Frames int
}

// Result is what a run leaves.
type Result struct {
	Whole    *profile.Profile  // nil unless Options.Whole
	Accounts []profile.Account // of the whole run, one for each collector
	Alarms   int               // that were recorded; see Options.Trigger
	Notes    []string          // what went wrong, in the notes of Whole too: see run.Account
}

// Run runs the collectors until the context is done, the duration is over, the
// target has ended or Report fails. The first three are no errors: what was
// seen until then is reported. The error is the *perfevent.OpenError of events
// that can't be opened, the one of Report, or says what else failed.
//
// When Run returns its goroutines have ended and its events are closed. A
// Started command that was not let run is still held if they could not be
// opened, and killed after that.
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

// spoolBytes is how much may wait while an unwind table is compiled or a file
// comes from a slow disk: some seconds at a thousand samples a second.
const spoolBytes = 64 << 20

// maxWaiting is how many finished windows may wait for the reporting goroutine. An alarm has two.
const maxWaiting = 4

type profiling struct {
	opts     Options
	plans    []table.Plan // of the collectors
	source   run.Source
	live     *run.Live // beneath the source; nil with Options.Source
	notes    []string  // of open
	engine   *run.Engine
	recorder *table.Recorder
	begin    clocks
	growths  []stack.Growth // of the collectors' samplings
	paces    []moment.Pace  // likewise
	alarms   *alarms        // nil without Options.Trigger
	moments  *moment.Reader // nil: nobody asks for the calls of interpreted code
}

// clocks is one moment on the clock of the records and on the wall's.
type clocks struct {
	monotonic uint64
	wall      time.Time
}

func (r *profiling) run(ctx context.Context) (*Result, error) {
	userStacks, kernelStacks := false, false
	for _, collector := range r.opts.Collectors {
		plan := collector.Plan()
		first := samplings(r.plans)
		r.growths, r.paces = append(r.growths, stack.NewGrowth(&plan.Stacks, plan.Samplings, first)), append(r.paces, moment.NewPace(plan.Samplings, plan.Urgent, first))
		r.plans = append(r.plans, plan)
		userStacks, kernelStacks = userStacks || plan.Stacks.User, kernelStacks || plan.Stacks.Kernel
	}
	var keep time.Duration
	if r.alarms != nil && r.alarms.Before > 0 {
		keep = r.alarms.Before + keepLives
	}
	var err error
	spool := spoolBytes
	if wantsMoments(r.plans) {
		spool += spool / 2 // samples wait for what is read of them
	}
	if r.engine, err = run.New(r.source, run.Options{Unwind: userStacks, Keep: keep,
		Duration: r.opts.Duration, Spool: spool, Unordered: r.seen(), Logger: r.opts.Logger}); err != nil {
		return nil, err
	}
	defer r.engine.Close()
	_, examplesOf := examples(r.opts.Target, r.plans, r.alarms != nil && r.alarms.Before > 0)
	windows := make(chan *table.Window, maxWaiting)
	r.begin = clocks{monotonic: r.source.Now(), wall: time.Now()}
	r.recorder = table.NewRecorder(r.opts.Collectors, r.engine.Processes(), r.begin.monotonic, table.Options{
		End: r.end(), Interval: uint64(r.opts.Interval), Whole: r.opts.Whole, Memory: r.opts.Memory,
		Self: uint32(os.Getpid()), Spans: r.alarms != nil, Examples: examplesOf,
		Moments: r.startMoments(),
		Emit:    func(w *table.Window) { windows <- w },
		Ready: func() bool {
			// If reports fall behind, windows get longer: only one waits, so that little is
			// left to report after the end. A recording waits for its reports instead.
			return r.live == nil || len(windows) == 0
		},
	})
	if r.alarms != nil {
		r.alarms.ready = func(n int) bool { return len(windows)+n <= cap(windows) }
	}
	if r.live != nil {
		r.meter()
	}
	defer r.closeMoments()
	r.prepareMoments()
	starts := r.live != nil && r.alarms == nil
	if starts {
		r.recorder.Starting()
		r.begin = clocks{monotonic: r.source.Now(), wall: time.Now()}
		r.recorder.Postpone(r.begin.monotonic, r.end())
	}
	defer r.startClock(ctx)()
	if err := r.source.Enable(); err != nil {
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

	late, stop := run.Late(ctx, r.opts.Duration, r.engine.Processes())
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reporter := newReporter(r, late)
	defer reporter.close()
	if kernelStacks && r.alarms == nil {
		reporter.symbolizer.ReadAhead()
	}
	reported := make(chan error, 1)
	go func() { reported <- reporter.report(windows, cancel) }()

	err = r.engine.Run(ctx, tables{r.recorder, r})
	r.logUsage()
	whole := r.recorder.Finish(r.source.Now())
	close(windows)
	if err := errors.Join(err, <-reported); err != nil {
		return nil, err
	}
	return r.result(reporter, whole)
}

// result closes the books. It runs after the reporting goroutine.
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

// accounts is the bookkeeping of the whole run, by the kernel's own counts. The
// frames without a name are all collectors'; they stand with the first.
func (r *profiling) accounts(account *run.Account, unknown uint64) []profile.Account {
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

// logUsage says what the run has cost so far, symbols and output not included.
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

// tables is the sink of a run: see run.Sink.
type tables struct {
	*table.Recorder
	run *profiling
}

// Round looks at the copies of the stack, and tells of progress.
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
			own.Lost = counts[0].Lost // whose they were is not known
			if r.moments != nil {
				r.paces[i].Look(r.moments, moment.Hits{All: own.Stacked, Urgent: own.Urgent}, before)
			}
			r.growths[i].Look(r.live, stack.GrowthCounts{Stacks: own.Stacks, Cut: own.Truncated, Joined: own.Joined, Lost: own.Lost},
				before, r.opts.Logger)
		}
	}
	r.opts.Progress(Progress{Elapsed: time.Duration(before - r.begin.monotonic), Samples: samples})
	return nil
}

// end is when the run ends by its duration, on the records' clock; 0 if it has
// none.
func (r *profiling) end() uint64 {
	if r.opts.Duration == 0 {
		return 0
	}
	return r.begin.monotonic + uint64(r.opts.Duration)
}
