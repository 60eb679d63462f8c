package table

import (
	"maps"
	"slices"
	"weak"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profile/histogram"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Options configures a Recorder. Times are CLOCK_MONOTONIC in nanoseconds.
type Options struct {
	End      uint64 // end of the run, 0 if unknown; later samples do not count
	Interval uint64 // length of a window; 0: one window for the whole run
	Whole    bool   // also make a window of the whole run: see Finish
	Memory   int    // bound in bytes on the memory of distinct stacks and rows
	Self     uint32 // the PID that is left out: ringtap's own
	// If Spans is set, the caller gives each window's time (see RecordSpan), and samples between
	// windows are dropped. Otherwise windows follow each other every Interval.
	Spans bool
	// Examples are additional samplings, after the collectors'. They have large copies of the
	// stack, and their samples are not counted. Their whole stacks complete stacks that small
	// copies cut short. Each entry is the index of the collector's sampling with small copies.
	// Samples of even higher samplings are ignored: they carry no registers.
	Examples []int
	// SampleReader reads memory at samples, or is nil if nothing is read there: see
	// stack.Store.ReadAtSamples.
	SampleReader stack.SampleReader
	// Names has the names of threads; nil if no plan asks for them.
	Names *process.Names
	// Emit gets each window when it ends, and may keep it.
	Emit func(*Window)
	// Ready reports whether Emit would return without waiting. If not, the window goes on for
	// another interval, because waiting would let the rings overflow. Nil means always ready.
	Ready func() bool
}

// Recorder turns the records of a run into windows. It is an engine.Sink. Only one goroutine at a
// time may use it.
type Recorder struct {
	opts      Options
	parts     []part
	bySample  []*part // the part of each sampling
	stacked   []bool  // by sampling: its samples have a user stack
	urgent    []bool  // by sampling: it is one of Plan.Urgent
	processes *process.Table
	stacks    *stack.Store
	unwound   stack.User             // of the sample that Fold gets
	emitted   []weak.Pointer[Window] // windows that may still be symbolized

	begin, start uint64 // of the run, and of the current window
	due          uint64 // when the current window ends; unused without Interval and Spans
	since        uint64 // no records are missing from this time on: see Rows.Begin
	idle         bool   // there is no current window: see Options.Spans
	spans        []Span // that have not started
	notes        []string
	table        *table
	live         map[int]*process.Process // by Process.Index: those with rows in table
	cut          map[cutSamples]uint64    // how many samples of the current window were cut short
	whole        *whole                   // nil unless asked for
}

// part is what the Recorder keeps about one collector.
type part struct {
	collector Collector
	state     Stateful // the collector; nil if it remembers nothing
	index     int
	first     int // its first sampling in the session
	column    int // its first column
	ordered   bool
	histogram *histogram.Scale // may be nil
	standing  []int            // its columns, if the plan is Standing
	stacker   *stack.Stacker
	rows      Rows
	counts    Counts // of the current window
	closed    Counts // of the windows before
}

// whole has the data for the window of the whole run.
type whole struct {
	table     *table
	passing   *table                  // added by Rows.AddLast in the current window
	passed    *table                  // the same for earlier windows
	processes map[int]profile.Process // as they were at the end of their last window
}

// NewRecorder returns a Recorder whose first window starts at now. The session must have the
// samplings of the collectors' plans, one collector's after the other's. The columns of a row are
// in the same order.
func NewRecorder(collectors []Collector, processes *process.Table, now uint64, opts Options) *Recorder {
	r := &Recorder{
		opts: opts, processes: processes, parts: make([]part, len(collectors)),
		begin: now, start: now, due: now + opts.Interval, since: now, idle: opts.Spans,
		live: make(map[int]*process.Process), cut: make(map[cutSamples]uint64),
	}
	r.stacks = stack.NewStore(processes, r.full)
	if opts.SampleReader != nil {
		r.stacks.ReadAtSamples(opts.SampleReader)
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
			r.stacked = append(r.stacked, sampling.UserStack > 0 || sampling.Callchain.User)
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

// Processes returns the process table that describes the processes of rows.
func (r *Recorder) Processes() *process.Table { return r.processes }

// Prepare makes ringtap read the interpreted calls of p from its next samples on.
func (r *Recorder) Prepare(p *process.Process) { r.stacks.Prepare(p) }

// Starting calls the collectors' Starter.Starting: the events are about to be enabled.
func (r *Recorder) Starting() { r.starters(Starter.Starting) }

// Postpone moves the start of the run to now and its end to end, because Starting may have taken a
// while. No record may have been handled yet.
func (r *Recorder) Postpone(now, end uint64) {
	r.begin, r.start, r.since, r.due = now, now, now, now+r.opts.Interval
	r.opts.End = end
}

// Started calls the collectors' Starter.Started: the events are enabled.
func (r *Recorder) Started() { r.starters(Starter.Started) }

func (r *Recorder) starters(call func(Starter, *Rows)) {
	for i := range r.parts {
		if s, ok := r.parts[i].collector.(Starter); ok {
			call(s, &r.parts[i].rows)
		}
	}
}

// Record handles one record and keeps no part of it. The process table is already up to date with
// it. Records come in time order, with ticks between them. The exception are records from before an
// alarm: they are replayed in a span of their own, after the windows that have already ended. The
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

// handleSample counts a sample that has been unwound.
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

// handleOther handles a record that is not a sample.
func (r *Recorder) handleOther(record perfevent.Record) {
	if lost, ok := record.(*perfevent.Lost); ok {
		r.parts[0].counts.Lost += lost.Lost // nobody knows whose they were
	}
	r.follow(record)
}

// follow passes a record that is not a sample to the Stateful collectors.
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

// Due returns when the current window ends, or the next span starts. ok is false if that is
// unknown, or after the end of the run.
func (r *Recorder) Due() (when uint64, ok bool) {
	switch {
	case r.opts.Spans && r.idle && len(r.spans) == 0, !r.opts.Spans && r.opts.Interval == 0:
		return 0, false
	case r.idle:
		when = r.spans[0].Start
	default:
		when = r.due
	}
	return when, r.opts.End == 0 || when <= r.opts.End
}

// Tick ends the current window or starts the next span, at the time that Due returned.
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

// Advance is called when all records before now have been handled. It makes all ticks that are due.
func (r *Recorder) Advance(now uint64) {
	for at, ok := r.Due(); ok && now >= at; at, ok = r.Due() {
		r.Tick()
	}
}

// Samples returns the number of samples in the current window.
func (r *Recorder) Samples() (sum uint64) {
	for i := range r.parts {
		sum += r.parts[i].counts.Samples
	}
	return sum
}

// Counts returns the counts of the run so far, one per collector. They can exceed the sum of the
// windows, by samples left out or lost after the last one.
func (r *Recorder) Counts() []Counts {
	all := make([]Counts, len(r.parts))
	for i := range r.parts {
		all[i] = r.parts[i].closed
		all[i].Add(r.parts[i].counts)
	}
	return all
}

// Finish closes the last window at now, even if Ready returns false. It returns the window of the
// whole run, or nil without Options.Whole. The last window is not emitted if it is empty and
// shorter than a tenth of an interval. A wait or call that is still going on makes it not empty. No
// record may come after Finish.
func (r *Recorder) Finish(now uint64) *Window {
	if r.opts.End > 0 {
		now = min(now, r.opts.End)
	}
	r.Advance(now)
	// What is still going on was counted up to the end of the previous window.
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
	w, _ := r.window(r.whole.table, r.whole.processes, r.Counts(), r.begin, now)
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

// endAll makes the collectors add what is still going on at the end of the current window.
func (r *Recorder) endAll(end uint64) {
	for i := range r.parts {
		if p := &r.parts[i]; p.state != nil {
			p.state.End(&p.rows, end)
		}
	}
}

// close ends the current window, after endAll.
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
	w, keys := r.window(r.table, processes, counts, r.start, end)
	r.index(keys)
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

// hold tells the process table which objects are still needed, by stored stacks or by windows that
// may still be symbolized.
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

// isGone reports whether a window was garbage-collected.
func isGone(w weak.Pointer[Window]) bool { return w.Value() == nil }

// mergeWhole adds the current window to the whole run's.
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

// describe returns what a report says about a process.
func describe(p *process.Process) profile.Process {
	return profile.Process{PID: p.PID, NSPID: p.NSPID, TGID: p.TGID, Comm: p.Comm, Cgroup: p.Cgroup}
}
