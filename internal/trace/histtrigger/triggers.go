package histtrigger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile/histogram"
)

// Options configures Run.
type Options struct {
	Tracefs      *ftrace.FS
	Enter, Leave *ftrace.Format // of the events of tracefs at a function's entry and return
	PIDs         []int          // only these processes, their threads and children; nil: all but ringtap
	TID          int            // only this thread; 0: all
	Interval     time.Duration  // length of a window; 0: one window for the whole run
	Duration     time.Duration  // 0: until the context is done or the target has ended
	Logger       *slog.Logger   // nil discards
	// Armed, unless nil, is called when counting starts.
	Armed func() error
	// Emit gets each window when it ends. Its error ends the run.
	Emit func(*Window) error
}

// Window is what was counted in one window.
type Window struct {
	End       time.Time
	Histogram *histogram.Histogram // of nanoseconds; nil if there were no calls
}

// ErrNoTriggers is returned if the kernel can't make histograms.
var ErrNoTriggers = errors.New("the kernel has no hist triggers with synthetic events (CONFIG_HIST_TRIGGERS, CONFIG_SYNTH_EVENTS)")

// Account says what happened to the calls of a run.
type Account struct {
	Entered, Left uint64 // entries and returns that were seen
	Values        uint64 // in the histograms
	Dropped       uint64 // hits of threads for which there was no room
}

// threadsKept is how many threads can have a call in progress, including dead ones. bucketsKept is
// the maximum number of buckets.
const (
	threadsKept = 8192
	cpusKept    = 1024
	bucketsKept = 128
)

// Run measures the time of a function's calls in the kernel. A hist trigger at the entry stores the
// time for the thread. A trigger at the return generates a synthetic event with the difference, and
// a third trigger counts those. All are in a trace instance of their own. Nothing is recorded.
//
// There is room for one call per thread. If calls of the function are nested, only the innermost
// one counts: see Account. Errors wrap ErrNoTriggers if the kernel does not support this.
func Run(ctx context.Context, o Options) (account Account, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	synthetic, err := o.Tracefs.NewSynthetic("u64 took")
	if errors.Is(err, os.ErrNotExist) {
		return Account{}, fmt.Errorf("%w: %w", ErrNoTriggers, err)
	}
	if err != nil {
		return Account{}, err
	}
	closing := func(closer interface{ Close() error }) {
		if closeErr := closer.Close(); closeErr != nil {
			err = errors.Join(err, closeErr)
		}
	}
	defer closing(synthetic)
	instance, err := o.Tracefs.NewInstance()
	if err != nil {
		return Account{}, err
	}
	defer closing(instance)
	t := &triggers{Options: o, instance: instance, synthetic: synthetic}
	defer func() { err = errors.Join(err, t.disarm()) }()
	if err := t.arm(); err != nil {
		return Account{}, err
	}
	if o.Armed != nil {
		if err := o.Armed(); err != nil {
			return Account{}, err
		}
	}
	return t.follow(ctx)
}

// triggers has the state of a run.
type triggers struct {
	Options
	instance  *ftrace.Instance
	synthetic *ftrace.Synthetic
	set       []trigger
	before    map[int]bucketCount // at the end of the previous window, by power of two
}

// trigger is one trigger of an event.
type trigger struct {
	file, text string
}

// bucketCount is the content of a bucket.
type bucketCount struct{ hits, total uint64 }

// arm sets the triggers. Triggers at the return come after those at the entry, because they use
// their variables.
func (t *triggers) arm() error {
	if err := t.setThreads(); err != nil {
		return err
	}
	// The unit is nanoseconds. The default clock of hist triggers, global, stands still if the
	// CPUs' clocks differ.
	const now, clock = "common_timestamp", "clock=mono"
	name := t.synthetic.Name()
	enter, leave := t.Enter.System+"."+t.Enter.Name, filepath.Join("events", t.Leave.System, t.Leave.Name, "trigger")
	// The kernel's log2 rounds up, but our buckets start at powers of two. So the kernel counts the
	// time plus one.
	set := []trigger{{filepath.Join("events", t.synthetic.System(), name, "trigger"),
		fmt.Sprintf("hist:keys=took.log2:vals=took:size=%d", bucketsKept)}}
	enterFile := filepath.Join("events", t.Enter.System, t.Enter.Name, "trigger")
	// The idle tasks of all CPUs have the same TID.
	for _, tasks := range []struct {
		key, suffix, filter string
		kept                int
	}{
		{"common_pid", "0", "common_pid != 0", threadsKept},
		{"common_cpu", "1", "common_pid == 0", cpusKept},
	} {
		set = append(set,
			trigger{enterFile, fmt.Sprintf("hist:keys=%s:ts%s=%s-1:size=%d:%s if %s", tasks.key, tasks.suffix, now, tasks.kept, clock, tasks.filter)},
			trigger{leave, fmt.Sprintf("hist:keys=%s:took%s=%s-$ts%s:size=%d:%s:onmatch(%s).%s($took%s) if %s",
				tasks.key, tasks.suffix, now, tasks.suffix, tasks.kept, clock, enter, name, tasks.suffix, tasks.filter)})
	}
	for _, s := range set {
		t.Logger.Debug("trigger", "file", s.file, "text", s.text)
		if err := t.instance.Append(s.file, s.text); err != nil {
			return fmt.Errorf("%w: %w", ErrNoTriggers, err)
		}
		t.set = append(t.set, s)
	}
	return nil
}

// disarm removes the triggers, those that use other triggers' variables first. While such triggers
// exist, the kernel keeps the instance.
func (t *triggers) disarm() error {
	var errs []error
	for _, s := range slices.Backward(t.set) {
		if err := t.instance.Append(s.file, "!"+s.text); err != nil {
			errs = append(errs, fmt.Errorf("remove a trigger: %w", err))
		}
	}
	t.set = nil
	return errors.Join(errs...)
}

// setThreads makes the instance trace the target's threads only, and never ringtap's own.
func (t *triggers) setThreads() error {
	if t.TID != 0 {
		return t.instance.Write("set_event_pid", strconv.Itoa(t.TID))
	}
	if err := t.instance.Write("options/event-fork", "1"); err != nil {
		return err
	}
	for _, pid := range t.PIDs {
		if err := t.setProcess("set_event_pid", pid); err != nil {
			return err
		}
	}
	if len(t.PIDs) > 0 {
		return nil
	}
	if !t.instance.FS().Has("set_event_notrace_pid") { // since Linux 5.7
		return nil
	}
	return t.setProcess("set_event_notrace_pid", os.Getpid())
}

// setProcess adds the threads of a process to a list.
func (t *triggers) setProcess(list string, pid int) error {
	return process.Host{}.AddThreads(pid, func(lines string) error { return t.instance.Append(list, lines+"\n") })
}

// follow emits windows until the end.
func (t *triggers) follow(ctx context.Context) (Account, error) {
	loop := engine.Loop{
		Duration: t.Duration, Interval: t.Interval,
		Emit: func() error {
			_, err := t.emit()
			return err
		},
		Ended: t.ended,
	}
	if err := loop.Run(ctx); err != nil {
		return Account{}, err
	}
	return t.finish()
}

// ended reports whether all threads of the target have ended. The kernel removes threads from the
// list when their parent has waited for them; zombies are still on it.
func (t *triggers) ended() bool {
	if t.TID == 0 && len(t.PIDs) == 0 {
		return false
	}
	list, err := t.instance.Read("set_event_pid")
	if err != nil {
		return false
	}
	for tid := range strings.FieldsSeq(list) {
		if stat, err := proc.Live.Stat(tid); err == nil && !stat.Ended() {
			return false
		}
	}
	return true
}

// finish emits the last window and returns the account. It reads the hits before the histogram, so
// that calls that come in between are not counted as missing.
func (t *triggers) finish() (Account, error) {
	var account Account
	for _, side := range []struct {
		event *ftrace.Format
		hits  *uint64
	}{{t.Enter, &account.Entered}, {t.Leave, &account.Left}} {
		hists, err := t.instance.FS().Hists(side.event.System, side.event.Name)
		if err != nil {
			return account, err
		}
		for _, h := range hists {
			*side.hits += h.Hits
			account.Dropped += h.Dropped
		}
	}
	values, err := t.emit()
	account.Values = values.Hits
	account.Dropped += values.Dropped
	return account, err
}

// emit emits the current window.
func (t *triggers) emit() (ftrace.Hist, error) {
	hists, err := t.instance.FS().Hists(t.synthetic.System(), t.synthetic.Name())
	if err != nil {
		return ftrace.Hist{}, err
	}
	if len(hists) != 1 {
		return ftrace.Hist{}, fmt.Errorf("the event %s has %d histograms", t.synthetic.Name(), len(hists))
	}
	w := &Window{End: time.Now()}
	h, err := t.since(&hists[0])
	if err != nil {
		return ftrace.Hist{}, err
	}
	if h.Count() > 0 {
		w.Histogram = h
	}
	return hists[0], t.Emit(w)
}

// since returns what was counted since the previous window.
func (t *triggers) since(counted *ftrace.Hist) (*histogram.Histogram, error) {
	h := histogram.New(histogram.Log2())
	now := make(map[int]bucketCount, len(counted.Entries))
	for _, e := range counted.Entries {
		if len(e.Keys) != 1 {
			return nil, fmt.Errorf("a histogram of the kernel has %d keys", len(e.Keys))
		}
		power, ok := e.Keys[0].Log2()
		if !ok || power > 63 {
			return nil, fmt.Errorf("the key %q of a histogram of the kernel", e.Keys[0].Text)
		}
		// Values up to 2^power are times below 2^power, plus one.
		bucket := bucketCount{e.Values["hitcount"], e.Values["took"]}
		bucket.total -= bucket.hits
		now[power] = bucket
		was := t.before[power]
		var low int64
		if power > 0 {
			low = 1 << (power - 1)
		}
		if n := bucket.hits - was.hits; n > 0 {
			h.AddMany(low, n, bucket.total-was.total)
		}
	}
	t.before = now
	return h, nil
}
