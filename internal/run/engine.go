package run

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// Sink is what consumes records. Its methods are called one at a time.
type Sink interface {
	// Record takes a record, in the order of time, of which the process table knows
	// already. It keeps nothing of it. An error ends the run.
	Record(perfevent.Record) error
}

// Ticked is a Sink that does things at times of its own.
type Ticked interface {
	Sink
	// Due is the next such time, CLOCK_MONOTONIC in nanoseconds; false if there is none.
	Due() (at uint64, ok bool)
	// Tick is called at that time: what Record was given is of times before it, and what
	// it will be given is not.
	Tick()
}

// Rounded is a Sink that is told from time to time, also if nothing happens: see
// perfevent.Reader.Round. The engine is not locked meanwhile: see Engine.Locked. An
// error ends the run.
type Rounded interface {
	Sink
	Round(before uint64) error
}

// Early is a Sink that takes some records before others, as perfevent.Reader.BeforeSpool
// has it. It is called on another goroutine than Record, and never at once with it.
type Early interface {
	Sink
	// MayPass says that a record may be offered to Early. It is called at any time.
	MayPass(record perfevent.Record, next bool) bool
	// Early takes a record, or reports false for one that Record must be given.
	Early(perfevent.Record) bool
}

// Options says how an Engine works.
type Options struct {
	// NoProcesses keeps no process table, for sinks that need neither stacks nor mappings.
	NoProcesses bool
	// Processes is a table that knows the processes already, and stays the caller's; nil
	// makes one.
	Processes *process.Table
	Unwind    bool          // see process.Options
	Keep      time.Duration // see process.Options
	Duration  time.Duration // 0: until the context is done or the target has ended
	// Spool bounds the bytes of records that wait while the sink is held up; 0 hands them
	// on in place. See perfevent.Reader.Spool.
	Spool     int
	Unordered func(perfevent.Record) // see perfevent.Reader.Unordered
	AnyOrder  bool                   // see perfevent.Reader.AnyOrder
	Logger    *slog.Logger           // nil discards
}

// Engine is one run of a sink from end to end.
type Engine struct {
	source    Source
	opts      Options
	processes *process.Table // nil with NoProcesses

	mu      sync.Mutex // of the sink and the process table
	sink    Sink
	ticked  Ticked  // the sink; nil if it is none
	early   Early   // likewise
	rounded Rounded // likewise
	failed  error   // of Round
	cancel  func()
}

// New reads the processes of a source, which records what becomes of them already. Source.Enable
// comes after it, and then Run.
func New(source Source, opts Options) (*Engine, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	e := &Engine{source: source, opts: opts, processes: opts.Processes}
	if opts.NoProcesses || opts.Processes != nil {
		return e, nil
	}
	e.processes = process.NewTable(process.Options{Host: source.Host(), Unwind: opts.Unwind, Keep: opts.Keep, FollowCode: true, Logger: opts.Logger})
	if err := e.processes.Snapshot(source.Processes()...); err != nil {
		e.Close()
		return nil, fmt.Errorf("read the running processes: %w", err)
	}
	return e, nil
}

// Processes is the process table; nil with Options.NoProcesses. While the run lasts it
// belongs to the sink.
func (e *Engine) Processes() *process.Table { return e.processes }

// Close closes the process table that New made, not the source.
func (e *Engine) Close() {
	if e.processes != nil && e.opts.Processes == nil {
		e.processes.Close()
	}
}

// Run hands the records to the sink until the context is done, the duration is over or the
// target has ended, which are no errors, or the sink fails.
func (e *Engine) Run(ctx context.Context, sink Sink) error {
	e.sink = sink
	e.ticked, _ = sink.(Ticked)
	e.rounded, _ = sink.(Rounded)
	by := perfevent.Reader{Spool: e.opts.Spool, Unordered: e.opts.Unordered, AnyOrder: e.opts.AnyOrder, Round: e.round}
	var ok bool
	if e.early, ok = sink.(Early); ok {
		by.BeforeSpool = e.beforeSpool
	}
	ctx, e.cancel = context.WithCancel(ctx)
	defer e.cancel()
	if e.opts.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.opts.Duration)
		defer cancel()
	}
	if err := e.source.Read(ctx, by, e.Handle); err != nil {
		return err
	}
	return e.failed
}

// Handle takes the next record. It is for Sources that hand on what they have put in
// between.
func (e *Engine) Handle(record perfevent.Record) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed != nil {
		return e.failed
	}
	at := record.Common().Time
	e.tick(at)
	if e.processes != nil {
		if _, ok := record.(*perfevent.Sample); !ok {
			e.processes.Handle(record)
		}
		e.processes.CodeAt(at)
	}
	return e.sink.Record(record)
}

// Replay takes a record of a time that Handle has gone past already. What is known of
// processes stays as it is; a sample is of its process as that was then.
func (e *Engine) Replay(record perfevent.Record) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := record.Common().Time
	e.tick(at)
	e.processes.AsOf(at)
	e.processes.CodeAt(at)
	defer e.processes.AsOf(0)
	return e.sink.Record(record)
}

// Locked calls f while no method of the sink is called.
func (e *Engine) Locked(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

// tick tells the sink of the times up to now that it wants to know of.
func (e *Engine) tick(now uint64) {
	if e.ticked == nil {
		return
	}
	for at, ok := e.ticked.Due(); ok && now >= at; at, ok = e.ticked.Due() {
		e.ticked.Tick()
	}
}

// beforeSpool offers a record to a sink that takes some early. A tick that is due is for
// the goroutine that handles records.
func (e *Engine) beforeSpool(record perfevent.Record, next bool) bool {
	if !e.early.MayPass(record, next) || !e.mu.TryLock() {
		return false
	}
	defer e.mu.Unlock()
	if e.ticked != nil {
		if at, ok := e.ticked.Due(); ok && record.Common().Time >= at {
			return false
		}
	}
	if e.processes != nil {
		e.processes.CodeAt(record.Common().Time)
	}
	return e.early.Early(record)
}

// round says that all records before a time have been handled.
func (e *Engine) round(before uint64) {
	e.Locked(func() { e.tick(before) })
	if e.rounded == nil || e.failed != nil {
		return
	}
	if e.failed = e.rounded.Round(before); e.failed != nil {
		e.cancel()
	}
}
