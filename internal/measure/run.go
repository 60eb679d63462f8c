package measure

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/ringtap/ringtap/internal/histogram"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/run"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Options is what a run does.
type Options struct {
	Target    perfevent.Target
	Functions []string // what the sources are of, for people
	Sources   []probe.Source
	// Value is the field whose values are counted; "" counts the times of calls.
	Value    string
	Scale    histogram.Scale
	Unit     time.Duration // of calls' times in the histograms: a nanosecond, microsecond …; 0 is a nanosecond
	Stacks   stack.Stacks
	Top      int           // rows with stacks that a window has: those with the most values; 0: all
	Interval time.Duration // of a window; 0: one for the whole run
	Duration time.Duration // 0: until the context is done or the target has ended
	Logger   *slog.Logger  // nil discards
	// Armed, unless nil, is called when all events are counting.
	Armed func() error
	// Emit is given each window that ends, to keep, on a goroutine of its own.
	// While it is held up, the window under way grows. Its error ends the run.
	Emit func(*Window) error
}

// Window is what was measured in a stretch of time.
type Window struct {
	End  time.Time
	Rows []Row // with the fewest values first
	// Rest is how many rows Options.Top has left out.
	Rest int
}

// Row is a histogram and what it is of.
type Row struct {
	Function  int      // as an index of Options.Functions
	Stack     []string // leaf first; nil where stacks were not asked for
	Cut       bool     // the stack is deeper than what was copied of it
	Histogram *histogram.Histogram
}

// Account says where the events of a run went.
type Account struct {
	run.Account
	Values     uint64 // in the histograms
	Before     uint64 // returns without an entry: calls that had begun before the run
	Open       uint64 // calls that had not returned at its end
	Left       uint64 // calls that can have no return: longjmp, exit, exec, return probes the kernel missed
	Broken     uint64 // calls given up because records were lost
	Unreadable uint64 // hits without a value
	Unkept     uint64 // values in a row without a stack, for want of memory
	Own        uint64 // hits of ringtap itself, which are left out
}

// spoolBytes is how much may wait while stacks are given their names.
const spoolBytes = 64 << 20

// Run measures until the context is done, the duration is over, the target has
// ended or Emit fails. The error is a *FieldError, the *perfevent.OpenError of an
// event that can't be opened, or Emit's. When Run returns, the events are closed.
func Run(ctx context.Context, o Options) (Account, error) {
	m, err := newMeterOf(o)
	if err != nil {
		return Account{}, err
	}
	opts := perfevent.Options{Logger: o.Logger, SideBand: perfevent.SideBandNames}
	if m.wantsStacks() {
		opts.SideBand = perfevent.SideBandAll
	}
	source, err := run.Open(o.Target, m.samplings(), opts)
	if err != nil {
		return Account{}, err
	}
	defer source.Close()
	return m.run(ctx, source)
}

// newMeterOf makes the meter of a run.
func newMeterOf(o Options) (*meter, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Unit == 0 {
		o.Unit = time.Nanosecond
	}
	m := newMeter(&o)
	return m, m.findValues()
}

// run measures what a source records.
func (m *meter) run(ctx context.Context, source run.Source) (Account, error) {
	options := run.Options{NoProcesses: !m.wantsStacks(), Unwind: m.opts.Stacks.User, Duration: m.opts.Duration, Logger: m.opts.Logger}
	if m.wantsStacks() {
		// Naming stacks takes longer than rings last.
		options.Spool = spoolBytes
	}
	engine, err := run.New(source, options)
	if err != nil {
		return Account{}, err
	}
	defer engine.Close()
	if m.wantsStacks() {
		m.stacks = newStacks(m.opts, engine.Processes())
		defer m.stacks.close()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := source.Enable(); err != nil {
		return Account{}, err
	}
	m.begin(source.Now())
	if m.opts.Armed != nil {
		if err := m.opts.Armed(); err != nil {
			return Account{}, err
		}
	}
	emitted := make(chan error, 1)
	go func() { emitted <- m.emitAll(cancel) }()
	readErr := engine.Run(ctx, m)
	account, err := m.finish(source)
	if emitErr := <-emitted; emitErr != nil {
		return account, emitErr
	}
	if readErr != nil {
		return account, readErr
	}
	return account, err
}

// emitAll emits windows until there are no more; an error ends the run.
func (m *meter) emitAll(cancel func()) error {
	var failed error
	for w := range m.windows {
		if failed != nil {
			continue
		}
		if failed = m.opts.Emit(w); failed != nil {
			cancel()
		}
	}
	return failed
}

// finish closes the last window and the books.
func (m *meter) finish(source run.Source) (Account, error) {
	defer close(m.windows)
	var err error
	if m.account.Account, err = source.Account(); err != nil {
		return m.account, fmt.Errorf("read the kernel's counts: %w", err)
	}
	m.settle(m.account.All().Lost)
	m.windows <- m.window()
	return m.account, nil
}

// self is the process that is left out.
func self() uint32 { return uint32(os.Getpid()) }
