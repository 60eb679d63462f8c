package table

import (
	"math/bits"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/perfevent/near"
)

// Rows is where a collector adds up: its columns of the window under way.
type Rows struct {
	recorder *Recorder
	part     *part
}

// Row names a row: a process and its two stacks. It is good until the window ends in
// which it was made, and for the next one if Rows.Keep was called for it at that end.
type Row struct {
	key     key
	process *process.Process // nil unless Known
}

// Known is false for the row of what there was no memory for, and for the zero value.
func (r Row) Known() bool { return r.process != nil }

// Of names the row of a sample's process and stacks. It unwinds the stack: a
// collector asks once, and only for samples that it will count. Where the memory
// is used up, what is new has no row of its own.
func (r *Rows) Of(sample *perfevent.Sample) Row {
	return r.recorder.row(r.part, sample)
}

// OfCalls is Of for a collector that must know whether ringtap read the interpreted functions of a
// sample's stack. Native is the row that samples with the same native frames have if their functions were
// not read; it is not Known if the process has no interpreter. Read reports whether row has the functions
// that ran at the time of the sample: not if they were read late.
func (r *Rows) OfCalls(sample *perfevent.Sample) (row, native Row, read bool) {
	row = r.Of(sample)
	user := &r.recorder.unwound
	if !row.Known() || !user.Interpreted || user.Native == stack.None {
		return row, Row{}, false
	}
	native = row
	native.key.user = user.Native
	if r.recorder.stacks.IsPartial(user.Native) {
		if whole, ok := r.recorder.stacks.CompletedAt(row.process.Comm, stackPointer(sample), user.Native); ok {
			native.key.user = whole
		}
	}
	return row, native, user.Calls == near.Exact
}

// Process names the row of a process without any stack.
func (r *Rows) Process(pid uint32) Row {
	p := r.recorder.processes.Process(int(int32(pid)))
	return Row{key: key{process: p.Index, user: stack.None, kernel: stack.None}, process: p}
}

// Stack names the row of a process and of stacks that did not come with a sample. Either
// stack may be empty.
func (r *Rows) Stack(pid uint32, user []callchain.Frame, truncated bool, kernel []callchain.Frame) Row {
	row := r.Process(pid)
	var kept, keptToo bool
	row.key.user, kept = r.recorder.stacks.Frames(user, truncated)
	row.key.kernel, keptToo = r.recorder.stacks.Frames(kernel, false)
	if !kept || !keptToo || !r.recorder.known(row.key) && r.recorder.full() {
		r.part.counts.Unkept++
		return Row{key: rest}
	}
	return row
}

// Processes returns the processes of the run.
func (r *Rows) Processes() *process.Table { return r.recorder.processes }

// Own tells whether a process is ringtap itself, which is left out. Collectors whose
// samples are Ordered are given its samples as well.
func (r *Rows) Own(pid uint32) bool { return pid == r.recorder.opts.Self }

// Fits says whether a collector may take that many bytes more.
func (r *Rows) Fits(bytes int) bool { return r.recorder.fits(bytes) }

// LeaveOut counts a sample that the collector had no room for.
func (r *Rows) LeaveOut() { r.part.counts.Unkept++ }

// Begin is when the records began, without a gap since: with the run, or with the
// last Forget. CLOCK_MONOTONIC, in nanoseconds.
func (r *Rows) Begin() uint64 { return r.recorder.since }

// Add adds to one of the collector's columns.
func (r *Rows) Add(row Row, column int, n uint64) {
	r.recorder.table.row(r.place(row))[r.part.column+column] += n
}

// AddLast adds to a column of a Standing plan what later windows don't show any more,
// and that of the whole run does.
func (r *Rows) AddLast(row Row, column int, n uint64) {
	r.Add(row, column, n)
	if whole := r.recorder.whole; whole != nil {
		whole.passing.row(r.place(row))[r.part.column+column] += n
	}
}

// Observe adds a value to the row's histogram, of a Plan that has one.
func (r *Rows) Observe(row Row, value int64) {
	r.recorder.table.histogram(observed{r.part.index, r.place(row)}, *r.part.histogram).Add(value)
}

// Keep has a row outlive the window that ends: see Stateful.End.
func (r *Rows) Keep(row Row) {
	if row.Known() {
		r.recorder.stacks.Keep(row.key.user)
		r.recorder.stacks.Keep(row.key.kernel)
	}
}

// Scale multiplies a column of the window under way by a fraction not below one.
func (r *Rows) Scale(column int, by, of uint64) {
	t := r.recorder.table
	for at := r.part.column + column; at < len(t.values); at += t.columns {
		high, low := bits.Mul64(t.values[at], by)
		if low, carry := bits.Add64(low, of/2, 0); high+carry < of {
			t.values[at], _ = bits.Div64(high+carry, low, of)
		}
	}
}

// place is where a row is in the tables, or that of what there is no memory for.
func (r *Rows) place(row Row) key {
	rec := r.recorder
	switch {
	case !row.Known():
		return rest
	case rec.table.find(row.key) != nil:
		return row.key
	case !rec.known(row.key) && rec.full():
		r.part.counts.Unkept++
		return rest
	}
	rec.live[row.process.Index] = row.process
	return row.key
}

// row names the row of a sample of a part.
func (r *Recorder) row(part *part, sample *perfevent.Sample) Row {
	p := r.processes.Process(int(int32(sample.PID)))
	k := key{process: p.Index, user: stack.None, kernel: stack.None}
	kept := true
	if part.stacker.Stacks.Kernel {
		k.kernel, kept = r.stacks.Kernel(part.stacker, sample)
	}
	if r.unwound.Unmapped {
		part.counts.Unmapped++
	}
	if user := r.unwound; user.Found {
		part.counts.stack(user.End)
		if user.Interpreted {
			part.counts.Count(user.Calls)
		}
		if stack.Foreign(r.processes.Host().Arch(), sample) {
			part.counts.Foreign++
		}
		k.user, kept = user.ID, kept && user.Kept
		if user.Kept {
			k.user = r.join(part, p, sample, user)
		}
	}
	if !kept || !r.known(k) && r.full() {
		part.counts.Unkept++
		return Row{key: rest}
	}
	return Row{key: k, process: p}
}

// unwind finds the user stack of a sample, if it has one: it is known, or follows from
// the copy. Whether the collector will ask for it is not: what Early refuses is met
// here by Handle, and then known.
func (r *Recorder) unwind(sample *perfevent.Sample) {
	r.unwound = stack.User{}
	if r.isExample(sample) {
		r.learn(sample)
		return
	}
	p := r.processes.Process(int(int32(sample.PID))) // which may be refused: see Early
	if !r.stacked[sample.Sampling] || sample.Regs.ABI == 0 || sample.PID == r.opts.Self {
		return
	}
	r.unwound = r.stacks.User(r.bySample[sample.Sampling].stacker, p, sample)
}
