package table

import (
	"math/bits"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Rows is what a collector adds to: its columns in the current window.
type Rows struct {
	recorder *Recorder
	part     *part
}

// Row identifies a row: a process and its two stacks. It is valid until the end of the window in
// which it was made. Rows.Keep, called at that end, makes it valid for the next window too.
type Row struct {
	key     key
	process *process.Process // nil unless Known
}

// Known returns false for the row of samples that there was no memory for, and for the zero value.
func (r Row) Known() bool { return r.process != nil }

// Of returns the row of a sample's process and stacks. It unwinds the stack: call it once, and only
// for samples that count. If memory is full, new rows share one row that is not Known.
func (r *Rows) Of(sample *perfevent.Sample) Row {
	return r.recorder.row(r.part, sample)
}

// OfCalls is Of for a collector that must know whether ringtap read the interpreted functions of a
// sample's stack. native is the row of samples with the same native frames whose interpreted
// functions were not read. It is not Known if the process has no interpreter. read reports whether
// row has the functions that ran at the time of the sample. It is false if they were read late.
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
	return row, native, user.Calls == helper.Exact
}

// Process returns the row of a process without any stack.
func (r *Rows) Process(pid uint32) Row {
	p := r.recorder.processes.Process(int(int32(pid)))
	return Row{key: key{process: p.Index, user: stack.None, kernel: stack.None}, process: p}
}

// Stack returns the row of a process and of stacks that did not come with a sample. Either stack
// may be empty.
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

// InKernel returns the row of a sample that was taken at an address of the kernel, although its
// callchain has no kernel part. row has the other stack.
func (r *Rows) InKernel(row Row, address uint64) Row {
	if !row.Known() {
		return row
	}
	id, kept := r.recorder.stacks.Frames([]callchain.Frame{{Object: callchain.Kernel, Offset: address}}, false)
	if !kept {
		r.part.counts.Unkept++
		return Row{key: rest}
	}
	row.key.kernel = id
	return row
}

// Processes returns the processes of the run.
func (r *Rows) Processes() *process.Table { return r.recorder.processes }

// ThreadName returns the name that a thread has now, as raw bytes, or nil if it is unknown. The plan
// must have Names. The caller must not change the name.
func (r *Rows) ThreadName(tid uint32) []byte { return r.recorder.opts.Names.Name(tid) }

// Own reports whether a process is ringtap itself, which is not counted. Ordered collectors get
// ringtap's samples and must leave them out themselves.
func (r *Rows) Own(pid uint32) bool { return pid == r.recorder.opts.Self }

// Fits reports whether there is memory for bytes more of the collector's state.
func (r *Rows) Fits(bytes int) bool { return r.recorder.fits(bytes) }

// LeaveOut counts a sample that the collector had no memory for.
func (r *Rows) LeaveOut() { r.part.counts.Unkept++ }

// Begin returns the start of the run or the time of the last Forget, in CLOCK_MONOTONIC
// nanoseconds. No records are missing since then.
func (r *Rows) Begin() uint64 { return r.recorder.since }

// Add adds n to one of the collector's columns.
func (r *Rows) Add(row Row, column int, n uint64) {
	r.recorder.table.row(r.place(row))[r.part.column+column] += n
}

// AddLast adds n to a column of a Standing plan, in this window and in the whole run's. Later
// windows don't show it any more.
func (r *Rows) AddLast(row Row, column int, n uint64) {
	r.Add(row, column, n)
	if whole := r.recorder.whole; whole != nil {
		whole.passing.row(r.place(row))[r.part.column+column] += n
	}
}

// Observe adds a value to the row's histogram. The plan must have one.
func (r *Rows) Observe(row Row, value int64) {
	r.recorder.table.histogram(observed{r.part.index, r.place(row)}, *r.part.histogram).Add(value)
}

// Keep makes a row valid beyond the window that ends: see Stateful.End.
func (r *Rows) Keep(row Row) {
	if row.Known() {
		r.recorder.stacks.Keep(row.key.user)
		r.recorder.stacks.Keep(row.key.kernel)
	}
}

// Scale multiplies a column of the current window by num/den, which is at least 1.
func (r *Rows) Scale(column int, num, den uint64) {
	t := r.recorder.table
	for at := r.part.column + column; at < len(t.values); at += t.columns {
		high, low := bits.Mul64(t.values[at], num)
		if low, carry := bits.Add64(low, den/2, 0); high+carry < den {
			t.values[at], _ = bits.Div64(high+carry, low, den)
		}
	}
}

// place returns the key under which a row is counted: rest if there is no memory for a new row.
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

// row returns the row of a sample of part.
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

// unwind sets r.unwound to the sample's user stack, if it has one. It runs before the collector
// asks, so that Early learns whether the stack leads to files that were not read yet. If so, Early
// refuses the sample, and Record reads them here.
func (r *Recorder) unwind(sample *perfevent.Sample) {
	r.unwound = stack.User{}
	if r.isExample(sample) {
		r.learn(sample)
		return
	}
	p := r.processes.Process(int(int32(sample.PID))) // Early may refuse this
	if !r.stacked[sample.Sampling] || !stack.HasUser(sample) || sample.PID == r.opts.Self {
		return
	}
	r.unwound = r.stacks.User(r.bySample[sample.Sampling].stacker, p, sample)
}
