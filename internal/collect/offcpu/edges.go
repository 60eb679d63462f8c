package offcpu

import (
	"fmt"
	"strconv"
	"time"

	"github.com/ringtap/ringtap/internal/collect/table"
)

// cuts counts waits that an edge of a window or of the run cut off.
type cuts struct {
	before, open cut
	unknown      uint64 // waits whose start or end was not seen
}

// cut is waits that extend beyond an edge, and their time on this side of it.
type cut struct {
	waits, time uint64
}

func (c *cut) add(time uint64) {
	c.waits++
	c.time += time
}

// String returns the number of waits and their time, with about three digits.
func (c cut) String() string {
	unit := time.Microsecond
	for _, u := range []time.Duration{time.Millisecond, time.Second} {
		if time.Duration(c.time) >= u {
			unit = u / 100
		}
	}
	total := time.Duration(c.time).Round(unit)
	if c.waits == 1 {
		return fmt.Sprintf("one wait (%v)", total)
	}
	return fmt.Sprintf("%d waits (%v)", c.waits, total)
}

// sinceBefore is the leaf of waits that started before the run, if ringtap could not read the
// thread's stack.
const sinceBefore = "[waits since before the run]"

// firstSeen handles a thread that starts to run and was not seen before. It has waited since the
// start of the run, because ringtap would have seen a later fork. With a control group, some
// switches of other threads are recorded, and threads may have joined the group. Only threads in
// initial count then.
func (c *Collector) firstSeen(rows *table.Rows, pid, tid uint32, now uint64) {
	_, watched := c.initial[tid]
	t := &thread{state: running}
	c.threads[tid] = t
	delete(c.initial, tid)
	if now <= rows.Begin() || time.Duration(now-rows.Begin()) < c.opts.min || c.opts.Group != "" && !watched {
		return
	}
	t.owed = now - rows.Begin()
	t.row = c.found.row(tid, now)
	if pid != noPID { // otherwise the process is known when the thread leaves its CPU
		c.pay(rows, t, pid)
	}
}

// pay counts the wait of a thread before its first switch.
func (c *Collector) pay(rows *table.Rows, t *thread, pid uint32) {
	owed := t.owed
	t.owed = 0
	row := t.row
	if !row.Known() {
		row = rows.With(rows.Process(pid), sinceBefore)
	}
	rows.Add(row, voluntaryTime, owed)
	rows.Add(row, voluntaryCount, 1)
	c.window.before.add(owed)
}

// End adds waits that are going on, up to the end of the window.
func (c *Collector) End(rows *table.Rows, now uint64) {
	c.addInitial(rows, now)
	c.found.end(rows, func(tid uint32) bool {
		_, waits := c.initial[tid]
		return !waits && c.threads[tid] != nil
	})
	c.leaveGroup()
	c.run.open = cut{}
	for tid, t := range c.threads {
		if t.owed > 0 {
			c.settleRunning(rows, tid, t)
		}
		if t.state == waiting && c.stillWaits(tid, t) {
			since := t.since
			c.add(rows, t, now)
			if t.since != since {
				c.window.open.add(t.since - since)
				c.run.open.add(t.since - t.begin)
			}
		}
		if t.state == waiting || t.kept {
			rows.Keep(t.row)
		}
	}
}

// settleRunning counts the first wait of a thread that now runs. /proc says which process it
// belongs to.
func (c *Collector) settleRunning(rows *table.Rows, tid uint32, t *thread) {
	pid, ok := c.processOf(tid)
	if !ok || rows.Own(pid) {
		t.owed = 0
		return
	}
	c.pay(rows, t, pid)
}

// processOf asks /proc for the process of a thread.
func (c *Collector) processOf(tid uint32) (pid uint32, ok bool) {
	status, err := c.opts.Host.Status(int(tid))
	return uint32(status.TGID), err == nil
}

// stillWaits asks /proc whether a wait has ended unseen, if records were lost. It forgets threads
// that have ended.
func (c *Collector) stillWaits(tid uint32, t *thread) bool {
	if c.lost < t.begin || c.lost <= t.checked {
		return true
	}
	switch state := c.stateOf(strconv.Itoa(int(tid))); {
	case ended(state):
		delete(c.threads, tid)
	case state != 'R':
		t.checked = c.lost
		return true
	case t.column == preemptedTime:
		return false // it may run or not; the next switch tells
	default:
		t.state = running
	}
	c.window.unknown++
	return false
}

// stateOf returns the state of a thread (proc_pid_stat(5)), or 0 if there is no such thread. dir is
// its directory in /proc: "1" or "1/task/2".
func (c *Collector) stateOf(dir string) byte {
	stat, _ := c.opts.Host.Stat(dir)
	return stat.State
}

// ended reports whether a thread with that state will not run any more.
func ended(state byte) bool { return state == 0 || state == 'Z' || state == 'X' }

// Forget forgets all waits, because records are missing. A command started by ringtap is running by
// then, and may have children.
func (c *Collector) Forget(uint64) {
	clear(c.threads)
	clear(c.dying)
	c.found.close()
	c.found, c.lost = nil, 0
	watched := c.opts.Watched
	if c.opts.Held != 0 {
		watched = c.family(nil, c.opts.Held)
	}
	c.initial = c.watched(watched)
}

// Notes returns a note about waits that were not counted to their end. Details are about waits that
// an edge of the window or the run cut off.
func (c *Collector) Notes(whole bool) (notes, details []string) {
	w := c.window
	if whole {
		w = c.run
	} else {
		c.run.before.waits += w.before.waits
		c.run.before.time += w.before.time
		c.run.unknown += w.unknown
		c.window = cuts{}
	}
	if w.before.waits > 0 {
		details = append(details, fmt.Sprintf("off-cpu: %v had begun before the run: counted from the start of the run", w.before))
	}
	if w.open.waits > 0 {
		details = append(details, fmt.Sprintf("off-cpu: %v went on at the end: counted up to it", w.open))
	}
	if w.unknown > 0 {
		why := "records of their start or end were lost"
		if c.opts.Group != "" {
			why += ", or their threads left the control group"
		}
		notes = append(notes, fmt.Sprintf("off-cpu: waits not counted to their end, because %s: %d", why, w.unknown))
	}
	return notes, details
}
