package histtrigger

import (
	"bytes"
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
	"github.com/ringtap/ringtap/internal/histogram"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/tracerun"
)

// Options is what Run does.
type Options struct {
	Tracefs      *ftrace.FS
	Enter, Leave *ftrace.Format // of the events of tracefs at a function's entry and return
	PIDs         []int          // only these processes, their threads and children; nil: all but ourselves
	TID          int            // only this thread; 0: all
	Interval     time.Duration  // of a window; 0: one for the whole run
	Duration     time.Duration  // 0: until the context is done or the target has ended
	Logger       *slog.Logger   // nil discards
	// Armed, unless nil, is called when calls are being counted.
	Armed func() error
	// Emit is given each window that ends. Its error ends the run.
	Emit func(*Window) error
}

// Window is what was counted in a stretch of time.
type Window struct {
	End       time.Time
	Histogram *histogram.Histogram // of nanoseconds; nil if there were no calls
}

// ErrNoTriggers says that the kernel can't make histograms of its own.
var ErrNoTriggers = errors.New("the kernel has no hist triggers with synthetic events (CONFIG_HIST_TRIGGERS, CONFIG_SYNTH_EVENTS)")

// Account says where the calls of a run went.
type Account struct {
	Entered, Left uint64 // entries and returns that were seen
	Values        uint64 // in the histograms
	Dropped       uint64 // hits for whose thread there was no room
}

// threadsKept is how many threads can have a call under way, dead ones included,
// and bucketsKept how many buckets there can be.
const (
	threadsKept = 8192
	cpusKept    = 1024
	bucketsKept = 128
)

// Run measures the time of a function's calls in the kernel itself: a hist
// trigger at its entry keeps the time for the thread, one at its return generates
// a synthetic event with the difference, and a third counts those. All are in a
// trace instance of our own; nothing is recorded.
//
// A thread has room for one call: of calls in calls of the same function the
// innermost is counted, and those around it are not. Account tells.
// Errors wrap ErrNoTriggers where the kernel has no such thing.
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
	closing := func(what interface{ Close() error }) {
		if closeErr := what.Close(); closeErr != nil {
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

// triggers is a run under way.
type triggers struct {
	Options
	instance  *ftrace.Instance
	synthetic *ftrace.Synthetic
	set       []trigger
	before    map[int]bucketCount // when the last window ended, by power of two
}

// trigger is one trigger of an event.
type trigger struct {
	file, text string
}

// bucketCount is what is in a bucket.
type bucketCount struct{ hits, total uint64 }

// arm sets the triggers. Those at the return come behind those at the entry, whose
// variables they use.
func (t *triggers) arm() error {
	if err := t.setThreads(); err != nil {
		return err
	}
	// Nanoseconds. The clock that hist triggers take by themselves, global, stands
	// still where the CPUs' clocks are apart.
	const now, clock = "common_timestamp", "clock=mono"
	name := t.synthetic.Name()
	enter, leave := t.Enter.System+"."+t.Enter.Name, filepath.Join("events", t.Leave.System, t.Leave.Name, "trigger")
	// The kernel's log2 rounds up, and a bucket is to begin with a power of two:
	// what is counted is one more than the time.
	set := []trigger{{filepath.Join("events", t.synthetic.System(), name, "trigger"),
		fmt.Sprintf("hist:keys=took.log2:vals=took:size=%d", bucketsKept)}}
	enterFile := filepath.Join("events", t.Enter.System, t.Enter.Name, "trigger")
	// The idle tasks of all CPUs are one thread by number.
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

// disarm removes the triggers, those that use others' variables first. While
// there are some that do, the kernel keeps the instance.
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

// setThreads has the instance see the target's threads only, and never ours.
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
	return tracerun.AddThreads(pid, func(lines string) error { return t.instance.Append(list, lines+"\n") })
}

// follow emits windows until the end.
func (t *triggers) follow(ctx context.Context) (Account, error) {
	loop := tracerun.Loop{
		Duration: t.Duration, Interval: t.Interval,
		Read: func() (more bool, err error) { return false, nil }, // the kernel counts
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

// ended tells whether nothing of the target is left. The kernel takes threads off
// the list when their parent has waited for them; zombies are on it still.
func (t *triggers) ended() bool {
	if t.TID == 0 && len(t.PIDs) == 0 {
		return false
	}
	list, err := t.instance.Read("set_event_pid")
	if err != nil {
		return false
	}
	for tid := range strings.FieldsSeq(list) {
		stat, err := process.Host{}.ReadFile(tid + "/stat")
		if err != nil {
			continue
		}
		// The state stands behind the name, which is in parentheses and may hold
		// anything (proc_pid_stat(5)).
		if state := stat[bytes.LastIndexByte(stat, ')')+1:]; len(state) > 1 && state[1] != 'Z' && state[1] != 'X' {
			return false
		}
	}
	return true
}

// finish emits the last window and closes the books. The hits are read before the
// histogram, so that calls which go on in the meantime are none that it lacks.
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

// emit emits the window under way.
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

// since is what has come since the last window.
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
		// Values up to 2^power are one more than times below it.
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
