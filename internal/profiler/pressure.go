package profiler

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/run"
	"github.com/ringtap/ringtap/perfevent"
)

// Trigger has a run record at alarms only, instead of all the time: what follows an
// alarm, what came before it, or both. The collectors' events are off in between,
// but for those that keep what came before.
type Trigger struct {
	// Alarm is waited for until the run ends; nil: only the end is an alarm.
	Alarm Alarm
	Name  string // what alarms are called in the notes of their windows
	// After is recorded from an alarm on, and again as long as another alarm has come
	// by then. 0 records nothing.
	After time.Duration
	// Before is how much of the time before an alarm is shown, as far as the rings
	// reach; 0 is none. It is for collectors whose metrics don't stand.
	Before time.Duration
	// AtEnd has the end of the run be an alarm.
	AtEnd bool
}

// Alarm is what makes a run record. *pressure.Monitor is one.
type Alarm interface {
	// Wait returns at the next alarm, with the context's error, or with one that is
	// io.EOF when no alarm can come any more, which ends the run.
	Wait(ctx context.Context) error
	// Pending tells whether an alarm came since the last that was told of.
	Pending() (bool, error)
}

// alarms is the trigger's part of a run: the source of its records.
//
//	watching goroutine:  Alarm → events on, a span for the recorder → events off
//	handling goroutine:  records → what came before the alarm → the engine
//
// An alarm is handled while records of the time before it are still on their way:
// those of processes, since nothing else is sampled then. So recent samples are left
// in pending, for the goroutine that handles records: it replays them when it comes
// to the first record after the alarm.
type alarms struct {
	Trigger
	*run.Live
	run     *profiling
	recent  *perfevent.Recent // nil without Before
	pending pending
	births  births
	woken   atomic.Uint64          // when the last alarm was told of, until something was seen after it
	ready   func(windows int) bool // so many can be reported without waiting

	// Of the watching goroutine, until it has ended.
	count   int // alarms that were recorded
	skipped int // that were not: too many windows wait for the reader
	told    int // of them, those that a note has told of
}

// keepLives is how long after Before the former lives of processes are kept: as
// long as records may be on their way.
const keepLives = 5 * time.Second

// recentStack is how much of the stack recent samples carry at least. What more they
// carried the rings would reach less far back.
const recentStack = 2 << 10

// newAlarms opens what keeps recent samples.
func newAlarms(r *profiling, t Trigger) (*alarms, error) {
	a := &alarms{Trigger: t, Live: r.live, run: r}
	a.pending.done = make(chan struct{}, 1)
	a.births.keep = uint64(t.Before)
	if t.Before == 0 {
		return a, nil
	}
	var err error
	a.recent, err = r.live.OpenRecent(perfevent.RecentOptions{Keep: t.Before, UserStack: recentStack})
	if err != nil {
		return nil, fmt.Errorf("keep what comes before an alarm: %w", err)
	}
	r.opts.Logger.Info("keeping recent samples", "bytes", a.recent.RingBytes())
	return a, nil
}

func (a *alarms) close() {
	if a.recent == nil {
		return
	}
	if err := a.recent.Close(); err != nil {
		a.run.opts.Logger.Info("close recent samples", "error", err)
	}
}

// Enable begins to keep what comes before an alarm, and lets a command run.
func (a *alarms) Enable() error {
	if a.recent != nil {
		if err := a.recent.Start(); err != nil {
			return err
		}
	}
	return a.Start()
}

// Read reads the session until the context is done or the target is gone. The
// watching goroutine ends first: what it enables is then disabled and read.
func (a *alarms) Read(ctx context.Context, by perfevent.Reader, handle func(perfevent.Record) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reading, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	watched := make(chan error, 1)
	go func() {
		watched <- urgently(func() error { return a.watch(ctx) })
		end()
	}()
	round := by.Round
	by.Round = func(before uint64) {
		a.come(before)
		round(before)
	}
	err := a.Live.Read(reading, by, func(record perfevent.Record) error {
		a.see(record)
		return handle(record)
	})
	cancel()
	return errors.Join(err, <-watched, a.finish())
}

// finish ends a run whose records have all been handled, and whose watching
// goroutine has ended.
func (a *alarms) finish() error {
	if a.recent == nil {
		return nil
	}
	if a.pending.from.Load() != 0 {
		a.replay()
		return nil
	}
	if !a.AtEnd {
		return a.recent.Stop()
	}
	a.After = 0
	if _, err := a.look(perfevent.Now(), a.notes("the end")); err != nil {
		return err
	}
	a.replay()
	return nil
}

// Account has the recent samples in the accounts of the samplings.
func (a *alarms) Account() (run.Account, error) {
	account, err := a.Live.Account()
	if err != nil || a.recent == nil {
		return account, err
	}
	recent, err := a.recent.Accounts()
	if err != nil {
		return account, err
	}
	accounts := account.Events
	for i := range accounts {
		accounts[i].Received += recent[i].Received
		accounts[i].Duplicates += recent[i].Duplicates
		accounts[i].Filtered += recent[i].Filtered
		accounts[i].Lost += recent[i].Lost
		accounts[i].Throttled += recent[i].Throttled
		accounts[i].Counted += recent[i].Counted
		accounts[i].Overwritten = recent[i].Overwritten
		accounts[i].Exact = accounts[i].Exact && recent[i].Exact
	}
	return account, nil
}

// describe says of the profile of the whole run how much it is of it.
func (a *alarms) describe(whole *profile.Profile) {
	if whole == nil || a.Alarm == nil {
		return
	}
	note := fmt.Sprintf("recorded at %s of %s only", plural(a.count, "alarm"), a.Name)
	if a.skipped > 0 {
		note += fmt.Sprintf("; the output could not keep up with %d more", a.skipped)
	}
	whole.Notes = append(whole.Notes, note)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
