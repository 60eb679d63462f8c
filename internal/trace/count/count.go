// Package count counts hits in the kernel, without records, so that none are lost.
//
//	probe.Set ─┬─ perfevent.Counters, one for each source ─┬→ Emit, each interval
//	           └─ Set.Hits, where places share an event ───┘
package count

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/perfevent"
)

// Options configures a run.
type Options struct {
	Target perfevent.Target // what the Set was opened for
	Set    *probe.Set
	// LeaveOutOwn leaves out ringtap's own hits on the whole system. That works only for up to
	// fewOwn sources whose places do not share an event.
	LeaveOutOwn bool
	Duration    time.Duration // 0: until the context is done or the target has ended
	Interval    time.Duration // between two calls of Emit; 0: one call, at the end
	Logger      *slog.Logger  // nil discards
	// Armed, unless nil, is called when counting starts.
	Armed func() error
	// Emit gets the hits of each interval, by the names in Set.Functions. It may keep the map. Its
	// error ends the run.
	Emit func(hits map[string]uint64) error
	// Emitted, unless nil, is called after the last Emit and before the events are closed. The
	// kernel takes long to close many events. Run returns its error.
	Emitted func() error
}

// fewOwn is the largest number of sources for which ringtap's own hits are counted too.
const fewOwn = 32

// Run counts until the context is done, the duration is over, the target has ended or Emit fails.
// The error is the *perfevent.OpenError of an event that can't be opened, or that of Armed, Emit or
// Emitted. When Run returns, the events are closed.
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

// run has the counters of a run.
type run struct {
	Options
	counters []*perfevent.Counters // of the target and, with LeaveOutOwn, of this process
}

// open opens the counters and enables them.
func (r *run) open() error {
	var events []perfevent.Event
	for i := range r.Set.Sources {
		events = append(events, r.Set.Sources[i].Event)
	}
	targets := []perfevent.Target{r.Target}
	// For a shared event, ringtap's own hits would be one number for all places.
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
		_ = counters.Close() // an error does not matter: they were only read
	}
}

// emitAll calls Emit for each interval until the end.
func (r *run) emitAll(ctx context.Context) error {
	before := make([]uint64, len(r.Set.Functions))
	emit := func() error {
		counts, err := r.read()
		if err != nil {
			return err
		}
		hits := make(map[string]uint64)
		for i, count := range counts {
			hits[r.Set.Functions[i]] += count - min(count, before[i])
		}
		before = counts
		return r.Emit(hits)
	}
	loop := engine.Loop{Duration: r.Duration, Interval: r.Interval, Emit: emit, Done: r.counters[0].Ended()}
	if err := loop.Run(ctx); err != nil {
		return err
	}
	for _, counters := range r.counters {
		if err := counters.Disable(); err != nil {
			return err
		}
	}
	return emit()
}

// read reads the counts, without ringtap's own hits.
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
