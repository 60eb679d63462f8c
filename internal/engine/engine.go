package engine

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/perfevent"
)

// Sink consumes records. Record, Tick and Early are called one at a time, while the engine is
// locked. MayPass and Round may be called at any time.
type Sink interface {
	// Record handles the next record, in time order. The process table is already up to date with
	// it. Record must not keep any part of it. An error ends the run.
	Record(perfevent.Record) error
}

// A Ticked sink also runs code at times it chooses.
type Ticked interface {
	Sink
	// Due returns the next such time, in CLOCK_MONOTONIC nanoseconds, or false if there is none.
	Due() (when uint64, ok bool)
	// Tick is called at that time: after all records of earlier times, and before all others.
	Tick()
}

// A Rounded sink is also called about every fifth of a second, even if there are no records: see
// perfevent.Reader.Round. The engine is not locked during the call: see Engine.Locked. An error
// ends the run.
type Rounded interface {
	Sink
	Round(before uint64) error
}

// An Early sink handles some records before their turn: see perfevent.Reader.BeforeSpool. Early
// runs on another goroutine than Record, but never at the same time.
type Early interface {
	Sink
	// MayPass reports whether a record may be offered to Early. It may be called at any time.
	MayPass(record perfevent.Record, next bool) bool
	// Early handles a record. It returns false if Record must handle it instead.
	Early(perfevent.Record) bool
}

// Options configures an Engine.
type Options struct {
	// NoProcesses runs without a process table, for sinks that need neither stacks nor mappings.
	NoProcesses bool
	// Processes is a table that already knows the processes. The caller closes it. If nil, Start
	// makes a table.
	Processes *process.Table
	Unwind    bool          // see process.Options
	Keep      time.Duration // see process.Options
	// Names tracks the names of threads: see Engine.Names.
	Names bool
	// Calls, unless nil, turns on reading the calls of interpreted code at samples of Live rings:
	// see Engine.Calls.
	Calls    *Calls
	Duration time.Duration // from Enable on; 0: until the context is done or the target has ended
	// Spool bounds the bytes of records that wait while the sink is busy. With 0, records are
	// handed on without a copy. See perfevent.Reader.Spool.
	Spool     int
	Unordered func(perfevent.Record) // see perfevent.Reader.Unordered
	AnyOrder  bool                   // see perfevent.Reader.AnyOrder
	Logger    *slog.Logger           // nil discards
}

// Calls says at which samples ringtap reads the calls of interpreted code.
type Calls struct {
	// Frequency is how many samples a second a helper may have to visit on one CPU. It is 0 if no
	// helper is needed, because threads are read while they wait.
	Frequency uint64
	// Switched reports which samples begin a wait; nil if none does.
	Switched atsample.SwitchFunc
}

// Engine is one run of a sink, from its start to its end.
type Engine struct {
	source    Source
	opts      Options
	processes *process.Table // nil with NoProcesses
	names     *process.Names // nil without Options.Names
	readNames func()         // fills names, the first time it is called
	calls     *atsample.Reader
	end       end

	mu      sync.Mutex // protects the sink and the process table
	sink    Sink
	ticked  Ticked  // the sink; nil if it is not Ticked
	early   Early   // likewise
	rounded Rounded // likewise
	failed  error   // error of Round
}

// Start makes an engine whose run ends when ctx is done. It reads the running processes, unless the
// source is a recording. The source must already record what they do from then on. The caller then makes its sink and calls Prepare,
// Enable, Run and Close, in this order.
func Start(ctx context.Context, source Source, opts Options) (*Engine, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	e := &Engine{source: source, opts: opts, processes: opts.Processes, readNames: func() {}}
	if !opts.NoProcesses && opts.Processes == nil {
		host := source.Host()
		e.processes = process.NewTable(process.Options{Host: host, Unwind: opts.Unwind, Keep: opts.Keep, FollowCode: host.Recording == nil, Logger: opts.Logger})
		if host.Recording == nil { // a recording describes the processes by records
			if err := e.processes.Snapshot(source.Processes()...); err != nil {
				e.processes.Close()
				return nil, fmt.Errorf("read the running processes: %w", err)
			}
		}
	}
	if opts.Names {
		e.names = process.NewNames(source.Host())
		e.readNames = sync.OnceFunc(func() { e.names.Snapshot(source.Processes()...) })
	}
	e.end.watch(ctx, e.processes)
	if live, ok := source.(*Live); ok && opts.Calls != nil {
		e.calls = atsample.New(live.Session, opts.Calls.Frequency, opts.Calls.Switched, opts.Logger)
	}
	return e, nil
}

// Processes returns the process table; nil with Options.NoProcesses. During Run only the sink may
// use it.
func (e *Engine) Processes() *process.Table { return e.processes }

// Names returns the names of threads as of the last record that the sink got; nil without
// Options.Names. It waits until the names of all threads that now run are read.
func (e *Engine) Names() *process.Names {
	e.readNames()
	return e.names
}

// Late returns a channel that is closed ten seconds after the end of the run. After that, no files
// may be read for its results: see symbolize.Options.
func (e *Engine) Late() <-chan struct{} { return e.end.late }

// Calls returns the reader of interpreted code's calls; nil if they are not read.
func (e *Engine) Calls() *atsample.Reader { return e.calls }

// Prepare calls prepare for each watched process, or for all that run if none is named. It then
// waits until ringtap can read their interpreted calls, so that the first samples already have
// them. Processes that start later get theirs from about their first sample on. Prepare does
// nothing if no calls are read.
func (e *Engine) Prepare(prepare func(*process.Process)) {
	if e.calls == nil {
		return
	}
	for _, pid := range Watched(e.source) {
		prepare(e.processes.Process(pid))
	}
	e.calls.Wait()
}

// Enable enables the source's samples, and starts the run's duration.
func (e *Engine) Enable() error {
	if len(e.source.Processes()) > 0 {
		e.readNames() // before a command started by ringtap runs and executes another program
	}
	if err := e.source.Enable(); err != nil {
		return err
	}
	e.end.after(e.opts.Duration)
	// Read the names of the system's threads right away, before the threads end, but concurrently
	// with the rings. The first record waits for them.
	go e.readNames()
	return nil
}

// Run hands the records to the sink until the context is done, the duration is over, End is called
// or the target has ended. It returns nil then, and an error if the source or the sink fails.
func (e *Engine) Run(sink Sink) error {
	e.sink = sink
	e.ticked, _ = sink.(Ticked)
	e.rounded, _ = sink.(Rounded)
	by := perfevent.Reader{Spool: e.opts.Spool, Unordered: e.opts.Unordered, AnyOrder: e.opts.AnyOrder, Round: e.round}
	var ok bool
	if e.early, ok = sink.(Early); ok {
		by.BeforeSpool = e.beforeSpool
	}
	err := e.source.Read(e.end.ctx, by, e.Handle)
	e.readNames()
	if err != nil {
		return err
	}
	return e.failed
}

// End ends the run, as if its context were done. It may be called at any time.
func (e *Engine) End() { e.end.cancel() }

// AtEnd calls f on another goroutine when the run ends. stop prevents the call.
func (e *Engine) AtEnd(f func()) (stop func() bool) { return context.AfterFunc(e.end.ctx, f) }

// Ending returns how long ago the run ended, or false if it has not. Some of its records may not
// have been handled yet.
func (e *Engine) Ending() (since time.Duration, ended bool) { return e.end.since() }

// Close closes what Start made. It does not close the source.
func (e *Engine) Close() {
	e.end.close()
	if e.calls != nil {
		if err := e.calls.Close(); err != nil {
			e.opts.Logger.Warn("the reader of interpreted functions did not end well", "error", err)
		}
	}
	if e.processes != nil && e.opts.Processes == nil {
		e.processes.Close()
	}
}

// Handle handles the next record. Sources call it for records that they insert themselves.
func (e *Engine) Handle(record perfevent.Record) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failed != nil {
		return e.failed
	}
	at := record.Common().Time
	e.tick(at)
	e.readNames()
	if _, ok := record.(*perfevent.Sample); !ok {
		if e.names != nil {
			e.names.Handle(record)
		}
		if e.processes != nil {
			e.processes.Handle(record)
		}
	}
	if e.processes != nil {
		e.processes.CodeAt(at)
	}
	return e.sink.Record(record)
}

// Replay passes the sink a record that is older than records already handled. It leaves the process
// table as it is. A sample belongs to the process that had its PID at the record's time.
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

// Locked calls f while the engine calls no method of the sink.
func (e *Engine) Locked(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

// tick makes all of the sink's ticks that are due at now.
func (e *Engine) tick(now uint64) {
	if e.ticked == nil {
		return
	}
	for at, ok := e.ticked.Due(); ok && now >= at; at, ok = e.ticked.Due() {
		e.ticked.Tick()
	}
}

// beforeSpool offers a record to an Early sink. If a tick is due before it, it returns false: only
// the goroutine that handles records ticks.
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

// round is called when all records before the given time have been handled.
func (e *Engine) round(before uint64) {
	e.Locked(func() { e.tick(before) })
	if e.rounded == nil || e.failed != nil {
		return
	}
	if e.failed = e.rounded.Round(before); e.failed != nil {
		e.End()
	}
}
