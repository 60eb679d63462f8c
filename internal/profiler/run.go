package profiler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// Options is what a run does.
type Options struct {
	Target perfevent.Target
	// Collectors say what is sampled, at least one. They share rings, stacks and
	// symbols, and their columns stand side by side. Run has them retreat to
	// what the machine and the caller's privileges allow.
	Collectors []table.Collector
	Interval   time.Duration // between two calls of Report; 0: one call, at the end
	Trigger    *Trigger      // records at alarms only, whatever the Interval; nil: all the time
	Duration   time.Duration // 0: until the context is done or the target has ended
	Whole      bool          // also make the profile of the whole run
	Lines      bool          // source lines and inlined functions
	Memory     int           // bound in bytes of what distinct stacks take
	Logger     *slog.Logger  // nil discards

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
	r := &run{opts: opts}
	var err error
	r.session, r.notes, err = open(opts.Target, opts.Collectors, perfevent.Options{Logger: opts.Logger,
		Switches: &perfevent.Switches{Sampled: opts.Trigger != nil}, Recent: opts.Trigger != nil && opts.Trigger.Before > 0})
	if err != nil {
		return nil, err
	}
	defer r.session.Close()
	if opts.Trigger != nil {
		if r.alarms, err = newAlarms(r, *opts.Trigger); err != nil {
			return nil, err
		}
		defer r.alarms.close()
	}
	return r.run(ctx)
}

// spoolBytes is how much may wait while an unwind table is compiled or a file
// comes from a slow disk: some seconds at a thousand samples a second.
const spoolBytes = 64 << 20

// maxWaiting is how many finished windows may wait for the reporting goroutine.
const maxWaiting = 4

type run struct {
	opts      Options
	plans     []table.Plan // of the collectors
	session   *perfevent.Session
	notes     []string // of open
	processes *process.Table
	recorder  *table.Recorder
	begin     clocks
	growths   []growth // of the collectors' samplings
	alarms    *alarms  // nil without Options.Trigger
}

// clocks is one moment on the clock of the records and on the wall's.
type clocks struct {
	monotonic uint64
	wall      time.Time
}

func now() clocks {
	return clocks{monotonic: perfevent.Now(), wall: time.Now()}
}

func (r *run) run(ctx context.Context) (*Result, error) {
	userStacks := false
	for _, collector := range r.opts.Collectors {
		plan := collector.Plan()
		r.growths = append(r.growths, newGrowth(&plan, samplings(r.plans)))
		r.plans = append(r.plans, plan)
		userStacks = userStacks || plan.Stacks.User
	}
	var keep time.Duration
	if r.alarms != nil && r.alarms.Before > 0 {
		keep = r.alarms.Before + keepLives
	}
	r.processes = process.NewTable(process.Options{Unwind: userStacks, Keep: keep, Logger: r.opts.Logger})
	defer r.processes.Close()
	// The side-band has been recording since Open, so that nothing is missed
	// between the snapshot and the first record.
	if err := r.processes.Snapshot(r.session.Processes()...); err != nil {
		return nil, fmt.Errorf("read the running processes: %w", err)
	}
	_, examplesOf := examples(r.opts.Target, r.plans, r.alarms != nil && r.alarms.Before > 0)
	windows := make(chan *table.Window, maxWaiting)
	r.begin = now()
	r.recorder = table.NewRecorder(r.opts.Collectors, r.processes, r.begin.monotonic, table.Options{
		End: r.end(), Interval: uint64(r.opts.Interval), Whole: r.opts.Whole, Memory: r.opts.Memory,
		Self: uint32(os.Getpid()), Spans: r.alarms != nil, Examples: examplesOf,
		Emit: func(w *table.Window) { windows <- w },
		// Nobody else sends, so that room stays.
		Ready: func() bool { return len(windows) < cap(windows) },
	})
	if r.alarms != nil {
		r.alarms.ready = func(n int) bool { return len(windows)+n <= cap(windows) }
	}
	r.meter()
	if err := r.enable(); err != nil {
		return nil, err
	}

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reporter := newReporter(r)
	defer reporter.close()
	reported := make(chan error, 1)
	go func() { reported <- reporter.report(windows, cancel) }()

	err := r.read(ctx)
	whole := r.recorder.Finish(now().monotonic)
	close(windows)
	if err := errors.Join(err, <-reported); err != nil {
		return nil, err
	}
	return r.result(reporter, whole)
}

// result closes the books. It runs after the reporting goroutine.
func (r *run) result(reporter *reporter, whole *table.Window) (*Result, error) {
	result := &Result{}
	if whole != nil {
		result.Whole = reporter.profile(whole)
		reporter.unknown = result.Whole.Accounts[0].Unknown
	}
	var err error
	if result.Accounts, err = r.accounts(reporter.unknown); err != nil {
		return nil, err
	}
	if whole != nil {
		result.Whole.Accounts = result.Accounts
	}
	if r.alarms != nil {
		result.Alarms = r.alarms.count
		r.alarms.describe(result.Whole)
	}
	return result, nil
}

// accounts is the bookkeeping of the whole run, by the kernel's own counts. The
// frames without a name are all collectors'; they stand with the first.
func (r *run) accounts(unknown uint64) ([]profile.Account, error) {
	samplings, err := r.session.Accounts()
	if err != nil {
		return nil, err
	}
	if r.alarms != nil {
		if err := r.alarms.account(samplings); err != nil {
			return nil, err
		}
	}
	var all []profile.Account
	for i, c := range r.recorder.Counts() {
		plan := &r.plans[i]
		a := profile.Account{Event: plan.Event, Exact: true,
			LeftOut: c.LeftOut, Stacks: c.Stacks, Truncated: c.Truncated - c.Joined, Joined: c.Joined, Broken: c.Broken, Unkept: c.Unkept, Unknown: unknown}
		for _, s := range samplings[:len(plan.Samplings)] {
			a.Received += s.Received
			a.Lost += s.Lost
			a.Throttled += s.Throttled
			a.Counted += s.Counted - min(s.Counted, s.Duplicates+s.Filtered)
			a.Overwritten += s.Overwritten
			a.Exact = a.Exact && s.Exact
		}
		samplings, unknown = samplings[len(plan.Samplings):], 0
		all = append(all, a)
	}
	return all, nil
}

// read reads records until the run ends.
func (r *run) read(ctx context.Context) error {
	if r.opts.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.opts.Duration)
		defer cancel()
	}
	defer r.logUsage()
	if r.alarms != nil {
		return r.alarms.read(ctx)
	}
	return r.reader().Read(ctx, r.session, r.recorder.Handle)
}

// reader is the way of the records to the recorder. It counts without a copy what needs
// no more.
func (r *run) reader() *perfevent.Reader {
	return &perfevent.Reader{Spool: spoolBytes, BeforeSpool: r.recorder.Early, Round: r.round, Unordered: r.seen()}
}

// enable lets the run begin.
func (r *run) enable() error {
	if r.alarms != nil {
		return r.alarms.arm()
	}
	return r.session.Enable()
}

// logUsage says what the run has cost so far, symbols and output not included.
func (r *run) logUsage() {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err == nil {
		r.opts.Logger.Info("recording done", "user", time.Duration(usage.Utime.Nano()), "system", time.Duration(usage.Stime.Nano()))
	}
}

// round closes windows in which nothing happened, and tells of progress: see
// perfevent.Reader.Round.
func (r *run) round(before uint64) {
	if before > r.begin.monotonic {
		if r.alarms != nil {
			r.alarms.come(before)
		}
		r.recorder.Advance(before)
		all := r.recorder.Counts()
		for i, counts := range all {
			counts.Lost = all[0].Lost // whose they were is not known
			r.grow(&r.growths[i], counts, before)
		}
		r.opts.Progress(Progress{Elapsed: time.Duration(before - r.begin.monotonic), Samples: r.recorder.Samples()})
	}
}

// end is when the run ends by its duration, on the records' clock; 0 if it has
// none.
func (r *run) end() uint64 {
	if r.opts.Duration == 0 {
		return 0
	}
	return r.begin.monotonic + uint64(r.opts.Duration)
}
