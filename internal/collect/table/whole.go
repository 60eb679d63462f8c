package table

import (
	"maps"
	"slices"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// cutSamples identifies samples whose stacks were cut short, or lack callers at a stack switch. No
// whole stack completes them yet.
type cutSamples struct {
	part    *part
	program string
	stack   callchain.StackID
	early   bool // stack.User.Early
	broken  bool // counted as broken, not as cut short
}

// isExample reports whether a sample is of Options.Examples.
func (r *Recorder) isExample(sample *perfevent.Sample) bool {
	return sample.Sampling >= len(r.bySample)
}

// learn remembers the stack of an example if it is whole.
func (r *Recorder) learn(sample *perfevent.Sample) {
	if sample.Regs.ABI == 0 || sample.PID == r.opts.Self {
		return
	}
	part := r.bySample[r.opts.Examples[sample.Sampling-len(r.bySample)]]
	p := r.processes.Process(int(int32(sample.PID)))
	if user := r.stacks.User(part.stacker, p, sample); user.Kept && user.End == callchain.Complete {
		r.stacks.WholeAt(p.Comm, stackPointer(sample), user.ID)
	}
}

// stackPointer returns the sample's stack pointer.
func stackPointer(sample *perfevent.Sample) uint64 {
	_, sp, _, _ := callchain.Host().Frame(sample.Regs.Mask, sample.Regs.Values)
	return sp
}

// join returns the stack to count for a sample. If user was cut short or marked, and only one known
// whole stack of its program starts like it, that is the whole one.
func (r *Recorder) join(part *part, p *process.Process, sample *perfevent.Sample, user stack.User) callchain.StackID {
	switch {
	case user.End == callchain.Complete:
		r.stacks.Whole(p.Comm, user.ID)
	case user.End == callchain.Cut, user.Marked:
		if whole, ok := r.stacks.CompletedAt(p.Comm, stackPointer(sample), user.ID); ok {
			part.counts.join(user.End == callchain.Lost, 1)
			return whole
		}
		r.cut[cutSamples{part, p.Comm, user.ID, user.Early, user.End == callchain.Lost}]++
	}
	return user.ID
}

// joinAll replaces stacks of the current window that were cut short by whole ones that came later.
func (r *Recorder) joinAll() {
	for of, n := range r.cut {
		if _, ok := r.stacks.Completed(of.program, of.stack); ok {
			of.part.counts.join(of.broken, n)
		} else if of.early {
			of.part.counts.Early += n
		}
	}
	clear(r.cut)
	for _, k := range slices.Collect(maps.Keys(r.table.rows)) {
		if to := r.joined(k); to != k {
			r.table.move(k, to)
		}
	}
}

// joined returns the row that joinAll moves the values of a row to: itself, unless a whole stack has
// completed its stack.
func (r *Recorder) joined(k key) key {
	p := r.live[k.process]
	if p == nil || k.user == stack.None || !r.stacks.IsPartial(k.user) {
		return k
	}
	if whole, ok := r.stacks.Completed(p.Comm, k.user); ok {
		k.user = whole
	}
	return k
}

// move adds the values of a row to another one, and removes it.
func (t *table) move(from, to key) {
	at := t.rows[from]
	row := t.row(to)
	for i, v := range t.values[at : at+t.columns] {
		row[i] += v
	}
	clear(t.values[at : at+t.columns])
	delete(t.rows, from)
	t.found = false
}
