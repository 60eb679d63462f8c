// Package count counts the hits of sources without records, so that it loses none.
//
//	probe.Set ─┬─ perfevent.Counters, one for each source ─┬→ Emit, each interval
//	           └─ Set.Hits, where places share an event ───┘
package count

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/perfevent"
)

// Options are what a run does.
type Options struct {
	Target perfevent.Target // what the Set was opened for
	Set    *probe.Set
	// LeaveOutOwn subtracts the hits of this process from those of the whole system,
	// where they are known: of few sources, none of which places share.
	LeaveOutOwn bool
	Duration    time.Duration // 0: until the context is done or the target has ended
	Interval    time.Duration // of the counts that Emit is given; 0: one at the end
	Logger      *slog.Logger  // nil discards
	// Armed, unless nil, is called when hits begin to be counted.
	Armed func() error
	// Emit is given the hits of each interval, by the names in Set.Functions, to
	// keep. Its error ends the run.
	Emit func(hits map[string]uint64) error
	// Emitted, unless nil, is called after the last Emit and before the events are
	// closed, which takes the kernel long where there are many. Its error is Run's.
	Emitted func() error
}

// fewOwn is for how many sources our own hits are counted too.
const fewOwn = 32

// Run counts until the context is done, the duration is over, the target has ended or
// Emit fails. The error is the *perfevent.OpenError of an event that can't be opened,
// or that of Armed or Emit. When Run returns, the events are closed.
func Run(ctx context.Context, o Options) error {
	r := &run{Options: o}
	defer r.close()
	if err := r.open(); err != nil {
		return err
	}
	if o.Armed != nil {
		if err := o.Armed(); err != nil {
			return err
		}
	}
	if err := r.emitAll(ctx); err != nil || o.Emitted == nil {
		return err
	}
	return o.Emitted()
}

// run is counters at work.
type run struct {
	Options
	counters []*perfevent.Counters // of the target, and perhaps of this process
}

// open opens the counters and enables them.
func (r *run) open() error {
	var events []perfevent.Event
	for i := range r.Set.Sources {
		events = append(events, r.Set.Sources[i].Event)
	}
	targets := []perfevent.Target{r.Target}
	// Of a shared event our own hits are one number for all places.
	if r.LeaveOutOwn && !r.Set.Shared() && len(events) <= fewOwn {
		targets = append(targets, perfevent.Process(os.Getpid()))
	}
	for _, target := range targets {
		counters, err := perfevent.OpenCounters(target, events, perfevent.Options{Logger: r.Logger})
		if err != nil {
			return err
		}
		r.counters = append(r.counters, counters)
	}
	for _, counters := range r.counters {
		if err := counters.Enable(); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) close() {
	for _, counters := range r.counters {
		_ = counters.Close() // they were only read
	}
}

// emitAll emits the hits of each interval until the end.
func (r *run) emitAll(ctx context.Context) error {
	if r.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.Duration)
		defer cancel()
	}
	var tick <-chan time.Time
	if r.Interval > 0 {
		ticker := time.NewTicker(r.Interval)
		defer ticker.Stop()
		tick = ticker.C
	}
	before := make([]uint64, len(r.Set.Functions))
	for ended := false; !ended; {
		select {
		case <-ctx.Done():
			ended = true
		case <-r.counters[0].Ended():
			ended = true
		case now := <-tick:
			end, ok := ctx.Deadline()
			ended = ok && !now.Before(end)
		}
		if ended {
			for _, counters := range r.counters {
				if err := counters.Disable(); err != nil {
					return err
				}
			}
		}
		counts, err := r.read()
		if err != nil {
			return err
		}
		hits := make(map[string]uint64)
		for i, count := range counts {
			hits[r.Set.Functions[i]] += count - min(count, before[i])
		}
		if err := r.Emit(hits); err != nil {
			return err
		}
		before = counts
	}
	return nil
}

// read reads the counts, without our own.
func (r *run) read() ([]uint64, error) {
	if r.Set.Shared() {
		return r.Set.Hits()
	}
	counts, err := r.counters[0].Read()
	if err != nil || len(r.counters) == 1 {
		return counts, err
	}
	own, err := r.counters[1].Read()
	if err != nil {
		return nil, err
	}
	for i := range counts {
		counts[i] -= min(counts[i], own[i])
	}
	return counts, nil
}
