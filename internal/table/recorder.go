package table

import (
	"maps"
	"slices"
	"weak"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/histogram"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Options says how a Recorder works. Times are nanoseconds of CLOCK_MONOTONIC.
type Options struct {
	End      uint64 // when the run ends, 0 if that is not known; samples after it do not count
	Interval uint64 // length of a window; 0: one window for the whole run
	Whole    bool   // make the window of the whole run too: see Finish
	Memory   int    // bound in bytes of what distinct stacks and rows take
	Self     uint32 // the pid that is left out: our own
	// Spans has windows be those of Record, and leaves out what comes between
	// them; else Interval has one follow the other.
	Spans bool
	// Examples are samplings behind those of the collectors, whose samples have large
	// copies of the stack and are not counted: by the index of the sampling, which is a
	// collector's, that has small ones. Whole stacks of theirs stand for cut ones. Samples of
	// samplings behind those, which have no registers, are of no account.
	Examples []int
	// Moments, unless nil, knows the calls of interpreted code: see stack.Store.Moments.
	Moments stack.Moments
	// Emit is given each window that ends, to keep.
	Emit func(*Window)
	// Ready says whether Emit would take a window at once. While it would not
	// the window under way goes on for another interval: to wait would fill
	// the rings. Nil is always.
	Ready func() bool
}

// Recorder turns the records of a run into windows: it is a run.Sink. It belongs to one
// goroutine at a time.
type Recorder struct {
	opts      Options
	parts     []part
	bySample  []*part // by index of the sampling
	stacked   []bool  // whether its samples have a user stack
	urgent    []bool  // whether they are of Plan.Urgent
	processes *process.Table
	stacks    *stack.Store
	unwound   stack.User             // of the sample that is folded
	emitted   []weak.Pointer[Window] // those that somebody may still symbolize

	begin, start uint64 // of the run, of the window under way
	due          uint64 // when the window under way is to end; unused without Interval and Spans
	since        uint64 // when the records began to which those of the window under way are added
	idle         bool   // no window is under way: see Options.Spans
	spans        []Span // that have not begun
	notes        []string
	table        *table
	live         map[int]*process.Process // by Process.Index: those with rows in table
	cut          map[cutSamples]uint64    // samples of the window that were cut short
	whole        *whole                   // nil unless asked for
}

// part is one of the collectors that share a Recorder.
type part struct {
	collector Collector
	state     Stateful // the collector; nil if it remembers nothing
	index     int
	first     int // of its samplings
	column    int // the first of its columns
	ordered   bool
	histogram *histogram.Scale // nil without
	standing  []int            // its columns, if they don't add up
	stacker   *stack.Stacker
	rows      Rows
	counts    Counts // of the window under way
	closed    Counts // of those before it
}

// whole is what the window of the whole run is made of.
type whole struct {
	table     *table
	passing   *table                  // what Rows.AddLast has added to the window under way,
	passed    *table                  // and to those before
	processes map[int]profile.Process // as they were when their last window ended
}

// NewRecorder makes a Recorder whose first window begins at now. The samplings of
// the collectors' plans are those of the session, one collector's after
// another's, and so are the columns of a row.
func NewRecorder(collectors []Collector, processes *process.Table, now uint64, opts Options) *Recorder {
	r := &Recorder{
		opts: opts, processes: processes, parts: make([]part, len(collectors)),
		begin: now, start: now, due: now + opts.Interval, since: now, idle: opts.Spans,
		live: make(map[int]*process.Process), cut: make(map[cutSamples]uint64),
	}
	r.stacks = stack.NewStore(processes, r.full)
	if opts.Moments != nil {
		r.stacks.Moments(opts.Moments)
	}
	columns := 0
	for i, collector := range collectors {
		plan := collector.Plan()
		p := &r.parts[i]
		*p = part{collector: collector, index: i, histogram: plan.Histogram, first: len(r.bySample), column: columns, ordered: plan.Ordered, stacker: r.stacks.Stacker(plan.Stacks)}
		p.state, _ = collector.(Stateful)
		p.rows = Rows{recorder: r, part: p}
		for i, sampling := range plan.Samplings {
			r.bySample = append(r.bySample, p)
			r.stacked = append(r.stacked, sampling.UserStack > 0)
			r.urgent = append(r.urgent, slices.Contains(plan.Urgent, i))
		}
		for range plan.Metrics {
			if plan.Standing {
				p.standing = append(p.standing, columns)
			}
			columns++
		}
	}
	r.table = newTable(columns)
	processes.Hold(r.hold)
	if opts.Whole {
		r.whole = &whole{table: newTable(columns), passing: newTable(columns), passed: newTable(columns), processes: make(map[int]profile.Process)}
	}
	return r
}

// Processes is the process table that rows are named by.
func (r *Recorder) Processes() *process.Table { return r.processes }

// Prepare has the calls of interpreted code in a process known from its next samples on.
func (r *Recorder) Prepare(pid int) { r.stacks.Prepare(r.processes.Process(pid)) }

// Starting tells the collectors that the events are about to be enabled: see Starter.
func (r *Recorder) Starting() { r.starters(Starter.Starting) }

// Postpone moves the start of the run, of which no record has been taken, to now, and its
// end to end: Starting may have taken a while.
func (r *Recorder) Postpone(now, end uint64) {
	r.begin, r.start, r.since, r.due = now, now, now, now+r.opts.Interval
	r.opts.End = end
}

// Started tells the collectors that the events are enabled.
func (r *Recorder) Started() { r.starters(Starter.Started) }

func (r *Recorder) starters(call func(Starter, *Rows)) {
	for i := range r.parts {
		if s, ok := r.parts[i].collector.(Starter); ok {
			call(s, &r.parts[i].rows)
		}
	}
}

// Record takes one record, of which the process table knows, and keeps nothing of it.
// Records come in time order, with ticks between them, but those of an alarm's time
// that are replayed: they are of a span that follows the windows that are closed. The
// error is always nil.
func (r *Recorder) Record(record perfevent.Record) error {
	if sample, ok := record.(*perfevent.Sample); ok {
		r.unwind(sample)
		r.handleSample(sample)
	} else {
		r.handleOther(record)
	}
	return nil
}

// handleSample takes a sample that has been unwound.
func (r *Recorder) handleSample(sample *perfevent.Sample) {
	if r.isExample(sample) {
		return
	}
	part := r.bySample[sample.Sampling]
	late := r.idle || r.opts.End > 0 && sample.Time >= r.opts.End
	own := sample.PID == r.opts.Self && !part.ordered
	if late || own || part.collector.Skip(sample) {
		part.counts.LeftOut++
		return
	}
	part.counts.Samples++
	if r.stacked[sample.Sampling] {
		part.counts.Stacked++
		if r.urgent[sample.Sampling] {
			part.counts.Urgent++
		}
	}
	part.collector.Fold(&part.rows, sample.Sampling-part.first, sample)
}

// handleOther takes a record that is no sample.
func (r *Recorder) handleOther(record perfevent.Record) {
	if lost, ok := record.(*perfevent.Lost); ok {
		r.parts[0].counts.Lost += lost.Lost // whose they were is not known
	}
	r.follow(record)
}

// follow shows the collectors a record that is no sample.
func (r *Recorder) follow(record perfevent.Record) {
	if r.idle || r.opts.End > 0 && record.Common().Time >= r.opts.End {
		return
	}
	for i := range r.parts {
		if p := &r.parts[i]; p.state != nil {
			p.state.Follow(&p.rows, record)
		}
	}
}

// Due is when the window under way is to end, or the next span to begin; false if that
// is with the run, or not known.
func (r *Recorder) Due() (at uint64, ok bool) {
	switch {
	case r.opts.Spans && r.idle && len(r.spans) == 0, !r.opts.Spans && r.opts.Interval == 0:
		return 0, false
	case r.idle:
		at = r.spans[0].Start
	default:
		at = r.due
	}
	return at, r.opts.End == 0 || at <= r.opts.End
}

// Tick ends the window under way, or begins one, at the time that is due.
func (r *Recorder) Tick() {
	switch {
	case r.idle:
		r.beginSpan()
	case r.opts.Spans:
		r.endAll(r.due)
		r.close(r.due)
		r.idle = true
	default:
		if r.opts.Ready == nil || r.opts.Ready() {
			r.endAll(r.due)
			r.close(r.due)
		}
		r.due += r.opts.Interval
	}
}

// Advance says that all records before now have been taken: it ticks for every time
// that is due by then.
func (r *Recorder) Advance(now uint64) {
	for at, ok := r.Due(); ok && now >= at; at, ok = r.Due() {
		r.Tick()
	}
}

// Samples is the number of samples of the window under way.
func (r *Recorder) Samples() (sum uint64) {
	for i := range r.parts {
		sum += r.parts[i].counts.Samples
	}
	return sum
}

// Counts is the bookkeeping of the run so far, of each collector. It has more
// than the windows together: what was left out or lost after the last of them.
func (r *Recorder) Counts() []Counts {
	all := make([]Counts, len(r.parts))
	for i := range r.parts {
		all[i] = r.parts[i].closed
		all[i].Add(r.parts[i].counts)
	}
	return all
}

// Finish closes the last window at now, whether Ready or not, and returns the
// window of the whole run, nil if that was not asked for. A last window that
// holds nothing and is a small rest of an interval is not emitted; what goes on at the
// end is something. No record may come after it.
func (r *Recorder) Finish(now uint64) *Window {
	if r.opts.End > 0 {
		now = min(now, r.opts.End)
	}
	r.Advance(now)
	// What goes on has been counted up to the end of the window before.
	if !r.idle && (now > r.start || r.start == r.begin) {
		r.endAll(now)
		rest := r.Samples() > 0 || r.start == r.begin || now-r.start > r.opts.Interval/10 || len(r.table.rows) > 0
		if rest || r.opts.Spans {
			r.close(now)
		}
	}
	if r.whole == nil {
		return nil
	}
	w := r.window(r.whole.table, r.whole.processes, r.Counts(), r.begin, now)
	r.note(w, true)
	return w
}

// note adds the collectors' notes and details to w, which is the whole run's window or one
// interval's.
func (r *Recorder) note(w *Window, whole bool) {
	for i := range r.parts {
		if noter, ok := r.parts[i].collector.(Noter); ok {
			notes, details := noter.Notes(whole)
			w.Notes, w.Details = append(w.Notes, notes...), append(w.Details, details...)
		}
	}
}

// endAll has the collectors add what goes on when the window under way ends.
func (r *Recorder) endAll(end uint64) {
	for i := range r.parts {
		if p := &r.parts[i]; p.state != nil {
			p.state.End(&p.rows, end)
		}
	}
}

// close ends the window under way, after endAll.
func (r *Recorder) close(end uint64) {
	r.joinAll()
	counts := make([]Counts, len(r.parts))
	for i := range r.parts {
		p := &r.parts[i]
		counts[i] = p.counts
		p.closed.Add(p.counts)
		p.counts = Counts{}
	}
	processes := make(map[int]profile.Process, len(r.live))
	for index, p := range r.live {
		processes[index] = describe(p)
	}
	w := r.window(r.table, processes, counts, r.start, end)
	w.Notes = slices.Clip(r.notes)
	r.note(w, false)
	r.emitted = append(slices.DeleteFunc(r.emitted, isGone), weak.Make(w))
	r.opts.Emit(w)
	if r.whole != nil {
		r.mergeWhole(processes)
	} else {
		r.stacks.Sweep()
	}
	r.start = end
	r.table = newTable(r.table.columns)
	clear(r.live)
}

// hold tells the process table which objects the recorder's chains and the windows that
// are still to be symbolized refer to.
func (r *Recorder) hold(hold func(callchain.ObjectID)) {
	r.stacks.Objects(hold)
	for _, emitted := range r.emitted {
		if w := emitted.Value(); w != nil {
			for id := range w.Images {
				hold(id)
			}
		}
	}
}

// isGone reports whether nobody refers to a window any more.
func isGone(w weak.Pointer[Window]) bool { return w.Value() == nil }

// mergeWhole adds the window to the one of the whole run.
func (r *Recorder) mergeWhole(processes map[int]profile.Process) {
	for i := range r.parts {
		r.whole.table.zero(r.parts[i].standing)
	}
	r.whole.table.merge(r.table)
	r.whole.table.merge(r.whole.passed)
	r.whole.passed.merge(r.whole.passing)
	r.whole.passing = newTable(r.table.columns)
	maps.Copy(r.whole.processes, processes)
}

// describe is what a report says of a process.
func describe(p *process.Process) profile.Process {
	return profile.Process{PID: p.PID, NSPID: p.NSPID, TGID: p.TGID, Comm: p.Comm, Cgroup: p.Cgroup}
}
