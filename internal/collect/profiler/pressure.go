package profiler

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/perfevent"
)

// Trigger makes a run record at alarms only: the time after an alarm, the time before it, or both.
// Between alarms the collectors' events are off, except the ones that keep recent samples.
type Trigger struct {
	// Alarm raises alarms until the run ends. If nil, the only alarm is the end of the run.
	Alarm Alarm
	Name  string // what notes of windows call the alarms
	// After is how long an alarm is recorded. If another alarm comes meanwhile, recording goes on
	// for as long again. 0 records nothing after an alarm.
	After time.Duration
	// Before is how much of the time before an alarm is shown, as far as the rings reach back; 0
	// shows none. Some collectors can't have it: see CheckBefore.
	Before time.Duration
	// AtEnd makes the end of the run an alarm.
	AtEnd bool
}

// Alarm says when a run records. *pressure.Monitor is an Alarm.
type Alarm interface {
	// Wait returns nil at the next alarm, or the context's error. An error that wraps io.EOF says
	// that no alarm can come any more, and ends the run.
	Wait(ctx context.Context) error
	// Pending reports whether an alarm has come since the last one that Wait or Pending reported.
	Pending() (bool, error)
}

// alarms is the engine.Source of a run with a Trigger.
//
//	watching goroutine:  Alarm → events on, a span for the recorder → events off
//	handling goroutine:  records → samples from before the alarm → the engine
//
// When an alarm comes, earlier records may still be on their way: records about processes, because
// nothing else is sampled then. So the watching goroutine leaves recent samples in pending. The
// handling goroutine replays them when it reaches the first record after the alarm.
type alarms struct {
	Trigger
	*engine.Live
	run     *profiling
	recent  *perfevent.Recent // nil without Before
	pending pending
	births  births
	woken   atomic.Uint64          // time of the last alarm, until a sample has come after it
	ready   func(windows int) bool // reports whether that many more windows fit without waiting

	// Only the watching goroutine uses these, until it has ended.
	count   int // alarms that were recorded
	skipped int // alarms not recorded, because too many windows wait for the reporting goroutine
	told    int // of skipped, how many the notes have mentioned
}

// keepLives is how long former processes are kept, in addition to Before. Records may be on their
// way that long.
const keepLives = 5 * time.Second

// recentStack is how many bytes of stack each recent sample carries at least. With more, the rings
// would reach less far back.
const recentStack = 2 << 10

// newAlarms opens the events that keep recent samples, if t asks for them.
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

// Enable starts keeping recent samples, and lets a started command run.
func (a *alarms) Enable() error {
	if a.recent != nil {
		if err := a.recent.Start(); err != nil {
			return err
		}
	}
	return a.Start()
}

// Read reads the session until the context is done or the target has ended. The watching goroutine
// ends first, so that the events it enabled are disabled and read.
func (a *alarms) Read(ctx context.Context, reader perfevent.Reader, handle func(perfevent.Record) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reading, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	watched := make(chan error, 1)
	go func() {
		watched <- urgently(func() error { return a.watch(ctx) })
		end()
	}()
	round := reader.Round
	reader.Round = func(before uint64) {
		a.come(before)
		round(before)
	}
	err := a.Live.Read(reading, reader, func(record perfevent.Record) error {
		a.see(record)
		return handle(record)
	})
	cancel()
	return errors.Join(err, <-watched, a.finish())
}

// finish ends a run after all records were handled and the watching goroutine has ended. It handles
// the alarm at the end of the run, if there is one.
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

// Account returns the account of the samplings. It includes recent samples.
func (a *alarms) Account() (engine.Account, error) {
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

// describe adds a note to the profile of the whole run: how many alarms it consists of.
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

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
