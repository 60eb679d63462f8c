package profiler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/symbolize"
	"github.com/ringtap/ringtap/perfevent"
)

// Options is what a run does.
type Options struct {
	Target    perfevent.Target
	Collector *collect.OnCPU
	Interval  time.Duration
	Duration  time.Duration // 0: until the context is done or the target has ended
	Whole     bool          // also make the profile of the whole run
	Lines     bool          // source lines and inlined functions
	Memory    int           // bound in bytes of what distinct stacks take
	Logger    *slog.Logger

	// Report is given the profile of each interval, on the reporting
	// goroutine. Its error ends the run.
	Report func(*profile.Profile) error
	// Progress is told from both goroutines how far the run is.
	Progress func(Progress)
}

// Progress is how far a run is.
type Progress struct {
	Elapsed time.Duration
	Samples uint64
	// Named of Frames distinct frames have been looked up, while symbolizing.
	Named, Frames int
}

// Result is what a run leaves.
type Result struct {
	Whole   *profile.Profile // nil unless Options.Whole
	Account profile.Account  // of the whole run
}

// Run runs the collector until the context is done, the duration is over or the
// target has ended.
func Run(ctx context.Context, opts Options) (*Result, error) {
	if opts.Progress == nil {
		opts.Progress = func(Progress) {}
	}
	r := &run{opts: opts}
	var err error
	r.session, r.notes, err = open(opts.Target, opts.Collector, perfevent.Options{Logger: opts.Logger, Round: r.round})
	if err != nil {
		return nil, err
	}
	defer r.session.Close()
	return r.run(ctx)
}

type run struct {
	opts      Options
	session   *perfevent.Session
	notes     []string
	processes *process.Table
	recorder  *collect.Recorder
	begin     clocks
}

// clocks is one moment on the clock of the records and on the wall's.
type clocks struct {
	monotonic uint64
	wall      time.Time
}

func now() clocks {
	var ts unix.Timespec
	// The only error is a clock that does not exist.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return clocks{monotonic: uint64(ts.Nano()), wall: time.Now()}
}

func (r *run) run(ctx context.Context) (*Result, error) {
	r.processes = process.NewTable(process.Options{Unwind: r.opts.Collector.Stacks.User, Logger: r.opts.Logger})
	defer r.processes.Close()
	// The side-band has been recording since Open, so that nothing is missed
	// between the snapshot and the first record.
	if err := r.processes.Snapshot(r.session.Processes()...); err != nil {
		return nil, fmt.Errorf("read the running processes: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	windows := make(chan *collect.Window, 4)
	reporter := &reporter{run: r, symbolizer: symbolize.New(symbolize.Options{
		Lines: r.opts.Lines, Kallsyms: "/proc/kallsyms", Logger: r.opts.Logger})}
	defer reporter.symbolizer.Close()
	reported := make(chan error, 1)
	go func() { reported <- reporter.report(windows, cancel) }()

	r.begin = now()
	r.recorder = collect.NewRecorder(r.opts.Collector, r.processes, r.begin.monotonic, collect.Options{
		Stacks: r.opts.Collector.Stacks, MaxStack: maxStack(),
		End: r.end(), Interval: uint64(r.opts.Interval), Whole: r.opts.Whole, Memory: r.opts.Memory,
		Self: uint32(os.Getpid()), Emit: func(w *collect.Window) { windows <- w },
	})
	err := r.read(ctx)
	whole := r.recorder.Finish(now().monotonic)
	close(windows)
	if reportErr := <-reported; err == nil {
		err = reportErr
	}
	if err != nil {
		return nil, err
	}
	result := &Result{}
	if whole != nil {
		result.Whole = reporter.profile(whole)
		reporter.unknown = result.Whole.Accounts[0].Unknown
	}
	if result.Account, err = r.account(reporter.counts, reporter.unknown); err != nil {
		return nil, err
	}
	if whole != nil {
		result.Whole.Accounts = []profile.Account{result.Account}
	}
	return result, nil
}

// account is the bookkeeping of the whole run, by the kernel's own counts.
func (r *run) account(c collect.Counts, unknown uint64) (profile.Account, error) {
	accounts, err := r.session.Accounts()
	if err != nil {
		return profile.Account{}, err
	}
	a := accounts[0]
	return profile.Account{
		Event:    r.opts.Collector.Event.String(),
		Received: a.Received, Lost: a.Lost, Throttled: a.Throttled, Counted: a.Counted, Exact: a.Exact,
		LeftOut: c.LeftOut, Truncated: c.Truncated, Broken: c.Broken, Unkept: c.Unkept, Unknown: unknown,
	}, nil
}

// read reads records until the run ends.
func (r *run) read(ctx context.Context) error {
	if err := r.session.Enable(); err != nil {
		return err
	}
	if r.opts.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.opts.Duration)
		defer cancel()
	}
	err := r.session.Read(ctx, r.recorder.Handle)
	r.logUsage()
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// logUsage says what the run has cost so far, symbols and output not included.
func (r *run) logUsage() {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err == nil {
		r.opts.Logger.Info("recording done", "user", time.Duration(usage.Utime.Nano()), "system", time.Duration(usage.Stime.Nano()))
	}
}

// round closes windows in which nothing happened.
func (r *run) round(before uint64) {
	if before > r.begin.monotonic {
		r.recorder.Advance(before)
		r.opts.Progress(Progress{Elapsed: time.Duration(before - r.begin.monotonic), Samples: r.recorder.Samples()})
	}
}

// end is when the run ends by its duration; 0 if it has none.
func (r *run) end() uint64 {
	if r.opts.Duration == 0 {
		return 0
	}
	return r.begin.monotonic + uint64(r.opts.Duration)
}

// maxStack is the number of entries after which the kernel ends a callchain.
func maxStack() int {
	const byDefault = 127 // PERF_MAX_STACK_DEPTH
	var n int
	text, err := os.ReadFile("/proc/sys/kernel/perf_event_max_stack")
	if err != nil {
		return byDefault
	}
	if _, err := fmt.Sscan(string(text), &n); err != nil {
		return byDefault
	}
	return n
}
