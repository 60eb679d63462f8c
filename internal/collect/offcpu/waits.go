package offcpu

import (
	"time"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/perfevent"
)

// thread is a thread that was seen in the run.
type thread struct {
	state   threadState
	column  uint8 // of the wait: voluntaryTime or preemptedTime
	counted bool  // the wait has been counted
	early   bool  // the wait started before the run
	joined  bool  // row has the waker's stack
	kept    bool  // row is from the thread's last clock sample: see seen
	begin   uint64
	since   uint64 // start of the part that has not been added yet
	checked uint64 // stillWaits has checked losses up to this time
	owed    uint64 // nanoseconds that it waited since the start of the run and that are not counted yet
	row     table.Row
}

type threadState uint8

const (
	running threadState = iota // or about to run for the first time
	waiting
)

// threadBytes is the approximate memory of a thread.
const threadBytes = 160

// noPID is the PID if only the thread is known.
const noPID = ^uint32(0)

// Bytes returns the memory of the known threads.
func (c *Collector) Bytes() int {
	known := len(c.threads) + len(c.dying)
	if c.found != nil {
		known += 2 * len(c.found.found) // with the state that each was found in
	}
	return threadBytes * known
}

// counts reports whether a thread is watched.
func (c *Collector) counts(tid uint32) bool {
	if tid == 0 || int32(tid) < 0 {
		return false
	}
	if c.opts.Threads == nil {
		return true
	}
	for _, t := range c.opts.Threads {
		if uint32(t) == tid {
			return true
		}
	}
	return false
}

// mayWait reports whether the waits of a thread count. Those of the idle task and of ringtap don't.
func (c *Collector) mayWait(rows *table.Rows, pid, tid uint32) bool {
	return pid != 0 && !rows.Own(pid) && c.counts(tid)
}

// waits starts a wait of a thread. The caller sets its row.
func (c *Collector) waits(rows *table.Rows, pid, tid uint32, now uint64, column uint8) *thread {
	t := c.threads[tid]
	switch {
	case t == nil:
		t = &thread{}
		c.threads[tid] = t
		delete(c.initial, tid)
	case t.state == waiting:
		c.window.unknown++ // the previous wait: the record of its end was lost
	case t.owed > 0:
		c.pay(rows, t, pid)
	}
	t.state, t.column, t.begin, t.since = waiting, column, now, now
	t.counted, t.early, t.joined = false, false, false
	return t
}

// goesOn ends the wait of a thread.
func (c *Collector) goesOn(rows *table.Rows, pid, tid uint32, now uint64) {
	t := c.threads[tid]
	switch {
	case t == nil:
		c.firstSeen(rows, pid, tid, now)
	case t.state == waiting:
		t.state = running
		c.add(rows, t, now)
	case t.owed > 0 && pid != noPID:
		c.pay(rows, t, pid)
	}
}

// add adds the part of a wait that has not been added yet.
func (c *Collector) add(rows *table.Rows, t *thread, now uint64) {
	if now < t.since || time.Duration(now-t.begin) < c.opts.min {
		return
	}
	rows.Add(t.row, int(t.column), now-t.since)
	if t.early {
		c.window.before.time += now - t.since
	}
	if !t.counted {
		rows.Add(t.row, int(t.column)+1, 1)
		if t.early {
			c.window.before.waits++
		}
	}
	t.counted, t.since = true, now
}

// settle counts what a thread waited before it was first seen.
func (c *Collector) settle(rows *table.Rows, pid, tid uint32) {
	if t := c.threads[tid]; t != nil && t.owed > 0 {
		c.pay(rows, t, pid)
	}
}

// forgetThread forgets a thread that has left its CPU for the last time.
func (c *Collector) forgetThread(tid uint32) {
	delete(c.threads, tid)
	delete(c.initial, tid)
	delete(c.dying, tid)
}

// ended forgets a thread that ends. It still has to leave its CPU. A tracepoint sample of that
// switch says that the thread is dead. A switch record does not, and comes only if the whole system
// is watched.
func (c *Collector) ended(rows *table.Rows, r *perfevent.Exit) {
	c.settle(rows, r.PID, r.TID)
	c.forgetThread(r.TID)
	if c.source != fromTracepoint && c.opts.Whole {
		c.dying[r.TID] = struct{}{}
	}
}

// switchRecord handles a switch record of the kernel.
func (c *Collector) switchRecord(rows *table.Rows, r *perfevent.Switch) {
	switch {
	case !c.mayWait(rows, r.PID, r.TID):
	case !r.Out:
		c.goesOn(rows, r.PID, r.TID, r.Time)
	case c.source == fromTracepoint: // the sample says more
	default:
		c.leaves(rows, r)
	}
}

// leaves handles a record of a thread that leaves its CPU. With fromCounter, its sample came just
// before.
func (c *Collector) leaves(rows *table.Rows, r *perfevent.Switch) {
	if _, dead := c.dying[r.TID]; dead {
		if !r.Preempt {
			c.settle(rows, r.PID, r.TID)
			c.forgetThread(r.TID)
		}
		return
	}
	column := uint8(voluntaryTime)
	if r.Preempt {
		column = preemptedTime
	}
	t := c.threads[r.TID]
	if c.source == fromCounter {
		if t != nil && t.state == waiting {
			t.column = column
		}
		return
	}
	if t == nil || !t.kept {
		c.waits(rows, r.PID, r.TID, r.Time, column).row = rows.Process(r.PID)
	} else {
		c.waits(rows, r.PID, r.TID, r.Time, column)
	}
}

// seen remembers where a thread runs, for its next waits, which have no stack.
func (c *Collector) seen(rows *table.Rows, s *perfevent.Sample) {
	if !c.mayWait(rows, s.PID, s.TID) {
		return
	}
	t := c.threads[s.TID]
	if t == nil {
		t = &thread{}
		c.threads[s.TID] = t
		delete(c.initial, s.TID)
	}
	if t.state == running { // otherwise a record was lost
		t.row, t.kept = rows.With(rows.Of(s), lastSeen), true
	}
}

// lastSeen is the leaf of a stack from a thread's last clock sample, not from when it left its CPU.
const lastSeen = "[last seen here]"
