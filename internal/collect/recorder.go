package collect

import (
	"maps"
	"sync"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/perfevent"
)

// Options says how a Recorder works. Times are nanoseconds of CLOCK_MONOTONIC.
type Options struct {
	End      uint64 // when the run ends, 0 if that is not known; samples after it do not count
	Interval uint64 // length of a window; 0: one window for the whole run
	Whole    bool   // make the window of the whole run too: see Finish
	Memory   int    // bound in bytes of what distinct stacks and rows take
	Self     uint32 // the pid that is left out: our own
	// Emit is given each window that ends, to keep.
	Emit func(*Window)
	// Ready says whether Emit would take a window at once. While it would not
	// the window under way goes on for another interval: to wait would fill
	// the rings. Nil is always.
	Ready func() bool
}

// Recorder turns the records of a run into windows. It belongs to one goroutine,
// but for Early.
type Recorder struct {
	collector Collector
	mu        sync.Mutex // of all that follows
	opts      Options
	processes *process.Table
	stacker   *Stacker
	memo      *memo
	interner  *callchain.Interner

	begin, start uint64 // of the run, of the window under way
	due          uint64 // when the window under way is to end; unused without Interval
	table        *table
	counts       Counts                   // of the window under way
	closed       Counts                   // of those before it
	live         map[int]*process.Process // by Process.Index: those with rows in table
	whole        *whole                   // nil unless asked for
}

// whole is what the window of the whole run is made of.
type whole struct {
	table     *table
	processes map[int]profile.Process // as they were when their last window ended
}

// NewRecorder makes a Recorder whose first window begins at now.
func NewRecorder(collector Collector, processes *process.Table, now uint64, opts Options) *Recorder {
	plan := collector.Plan()
	columns := len(plan.Metrics)
	r := &Recorder{
		collector: collector, opts: opts, processes: processes,
		stacker:  NewStacker(plan.Stacks),
		memo:     newMemo(),
		interner: callchain.NewInterner(),
		begin:    now, start: now, due: now + opts.Interval,
		table: newTable(columns),
		live:  make(map[int]*process.Process),
	}
	if opts.Whole {
		r.whole = &whole{table: newTable(columns), processes: make(map[int]profile.Process)}
	}
	return r
}

// Handle takes one record and keeps nothing of it. Records come in time order.
// The error is always nil: Handle is what perfevent.Session.Read calls.
func (r *Recorder) Handle(record perfevent.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advance(record.Common().Time)
	sample, ok := record.(*perfevent.Sample)
	if !ok {
		if lost, ok := record.(*perfevent.Lost); ok {
			r.counts.Lost += lost.Lost
		}
		r.processes.Handle(record)
		return nil
	}
	late := r.opts.End > 0 && sample.Time >= r.opts.End
	if late || sample.PID == r.opts.Self || r.collector.Skip(sample) {
		r.counts.LeftOut++
		return nil
	}
	r.counts.Samples++
	r.collector.Fold(r.table.row(r.key(sample)), sample)
	return nil
}

// Advance says that all records before now have been handled. It closes the
// windows that have ended by then.
func (r *Recorder) Advance(now uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advance(now)
}

func (r *Recorder) advance(now uint64) {
	if r.opts.End > 0 {
		now = min(now, r.opts.End)
	}
	for r.opts.Interval > 0 && now >= r.due {
		if r.opts.Ready == nil || r.opts.Ready() {
			r.close(r.due)
		}
		r.due += r.opts.Interval
	}
}

// Samples is the number of samples of the window under way.
func (r *Recorder) Samples() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts.Samples
}

// Counts is the bookkeeping of the run so far. It has more than the windows
// together: what was left out or lost after the last of them.
func (r *Recorder) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total()
}

func (r *Recorder) total() Counts {
	c := r.closed
	c.Add(r.counts)
	return c
}

// Finish closes the last window at now, whether Ready or not, and returns the
// window of the whole run, nil if that was not asked for. A last window that
// holds nothing and is a small rest of an interval is not emitted. No record
// may come after it.
func (r *Recorder) Finish(now uint64) *Window {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opts.End > 0 {
		now = min(now, r.opts.End)
	}
	r.advance(now)
	if r.counts.Samples > 0 || r.start == r.begin || now-r.start > r.opts.Interval/10 {
		r.close(now)
	}
	if r.whole == nil {
		return nil
	}
	return r.window(r.whole.table, r.whole.processes, r.total(), r.begin, now)
}

// close ends the window under way.
func (r *Recorder) close(end uint64) {
	processes := make(map[int]profile.Process, len(r.live))
	for index, p := range r.live {
		processes[index] = describe(p)
	}
	r.opts.Emit(r.window(r.table, processes, r.counts, r.start, end))
	if r.whole != nil {
		r.whole.table.merge(r.table)
		maps.Copy(r.whole.processes, processes)
	} else {
		// Nothing but the window refers to its stacks.
		r.interner.Reset()
		r.memo.forget()
	}
	r.start = end
	r.table = newTable(r.table.columns)
	r.closed.Add(r.counts)
	r.counts = Counts{}
	clear(r.live)
}

// key names the row of a sample. Where the memory is used up, what is new has
// no row of its own.
func (r *Recorder) key(sample *perfevent.Sample) key {
	p := r.processes.Process(int(int32(sample.PID)))
	k := key{process: p.Index, user: NoStack, kernel: NoStack}
	kept := true
	if r.stacker.Stacks.Kernel {
		if frames := r.stacker.Kernel(sample); len(frames) > 0 {
			k.kernel, kept = r.intern(frames, false)
		}
	}
	if r.stacker.Stacks.User {
		var user callchain.StackID
		if user, kept = r.user(p, sample, kept); kept {
			k.user = user
		}
	}
	if !kept || !r.known(k) && r.full() {
		r.counts.Unkept++
		return rest
	}
	r.live[p.Index] = p
	return k
}

// user names the user stack of a sample. It reports false if there is no memory
// for a new one, or may is false.
func (r *Recorder) user(p *process.Process, sample *perfevent.Sample, may bool) (callchain.StackID, bool) {
	if c := r.memo.find(p, sample); c != nil {
		r.count(c.end)
		return c.id, may
	}
	frames, end := r.stacker.User(p, sample)
	if len(frames) == 0 {
		return NoStack, may
	}
	r.count(end)
	if !may {
		return NoStack, false
	}
	id, kept := r.intern(frames, end == callchain.Cut)
	if kept && r.stacker.Repeatable() {
		r.memo.keep(p, sample, id, end)
	}
	return id, kept
}

// count enters how a user stack ended.
func (r *Recorder) count(end callchain.End) {
	switch end {
	case callchain.Cut:
		r.counts.Truncated++
	case callchain.Lost:
		r.counts.Broken++
	}
}

// describe is what a report says of a process.
func describe(p *process.Process) profile.Process {
	return profile.Process{PID: p.PID, NSPID: p.NSPID, TGID: p.TGID, Comm: p.Comm, Cgroup: p.Cgroup}
}
