package perfevent

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// niceThread lowers a thread's nice value while records pile up, so that it gets most of a CPU
// that other threads want too. Two threads need it: the one that reads rings, while a ring is
// more than half full, and the one that handles records, while many wait. If the recorded
// programs keep all CPUs busy, a reader with an equal share would lose records. While it keeps
// up, a larger share would slow the programs for nothing.
type niceThread struct {
	on      bool
	nice    int  // the thread's original nice value
	refused bool // the caller lacks CAP_SYS_NICE
}

// nicer is how much set lowers the nice value. That gives ten times the weight of other threads
// (sched_prio_to_weight in kernel/sched/core.c).
const nicer = 10

// set lowers the nice value of the caller's thread, or restores it. The caller is locked to the
// thread only while the value is lower: a locked goroutine costs switches between threads at
// each wait.
func (t *niceThread) set(on bool) {
	switch {
	case t.on == on || t.refused:
	case on:
		runtime.LockOSThread()
		n, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
		t.nice = 20 - n // the system call returns 20 minus the nice value
		if err == nil {
			err = unix.Setpriority(unix.PRIO_PROCESS, 0, max(t.nice-nicer, -20))
		}
		t.on, t.refused = err == nil, err != nil
		if t.refused {
			runtime.UnlockOSThread()
		}
	case unix.Setpriority(unix.PRIO_PROCESS, 0, t.nice) == nil:
		runtime.UnlockOSThread()
		t.on = false
	}
}

// realtime makes a goroutine look at the rings within microseconds of a record, for
// Options.NoBuffering. It gives the goroutine's thread the lowest real-time priority
// (SCHED_FIFO), so that the thread runs before ordinary threads as soon as it is woken.
//
// Such a thread could take a CPU for itself, and each wakeup costs time in the program that
// makes the record. So if it works for more than half of a period or is woken too often, it
// becomes an ordinary thread for a second, and looks every 2 ms.
type realtime struct {
	own   *unix.SchedAttr // the thread's original scheduling; nil if it must not change
	real  bool
	since time.Time // start of the current period
	idle  time.Duration
	waits int
	until time.Time // end of the second as an ordinary thread
}

const (
	realtimePeriod = 100 * time.Millisecond // over which work is measured
	realtimeWaits  = 2000                   // greatest number of waits in a period
	restPeriod     = time.Second
	restWait       = 2 * time.Millisecond
)

// newRealtime makes the caller's thread a real-time one, until leave.
func newRealtime() *realtime {
	runtime.LockOSThread()
	r := &realtime{since: time.Now()}
	if own, err := unix.SchedGetAttr(0, 0); err == nil && own.Policy == unix.SCHED_NORMAL {
		r.own = own
	}
	r.set(true)
	return r
}

// wait calls wait, which waits for a record, and measures how long the thread works between
// waits.
func (r *realtime) wait(wait func() error) error {
	before := time.Now()
	if before.Before(r.until) {
		time.Sleep(restWait)
		return nil
	}
	r.set(true)
	err := wait()
	now := time.Now()
	r.idle += now.Sub(before)
	r.waits++
	if passed := now.Sub(r.since); passed >= realtimePeriod {
		if r.idle < passed/2 || r.waits > realtimeWaits*int(passed/realtimePeriod) {
			r.set(false)
			r.until = now.Add(restPeriod)
			now = r.until
		}
		r.since, r.idle, r.waits = now, 0, 0
	}
	return err
}

func (r *realtime) leave() {
	r.set(false)
	runtime.UnlockOSThread()
}

// set makes the thread real-time or ordinary. Without CAP_SYS_NICE it has no effect.
func (r *realtime) set(real bool) {
	if r.real == real || r.own == nil {
		return
	}
	attr := r.own
	if real {
		attr = &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	}
	if unix.SchedSetAttr(0, attr, 0) == nil {
		r.real = real
	}
}
