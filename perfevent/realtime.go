package perfevent

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// realtime has a goroutine look at the rings within microseconds of a record,
// where Options.NoBuffering is set: on a thread of its own that runs before others as
// soon as it is woken (SCHED_FIFO, the lowest of the real-time priorities).
//
// Such a thread could take a CPU for itself, and each record that wakes it costs
// the program that made it. So for a second it is one like all others, and looks
// every few milliseconds, if it had work for more than half of the time or was
// woken too often.
type realtime struct {
	own   *unix.SchedAttr // what the thread is but for us; nil if it must stay that
	real  bool
	since time.Time // the begin of the period under way
	idle  time.Duration
	waits int
	until time.Time // the end of a second of rest
}

const (
	realtimePeriod = 100 * time.Millisecond // for which work is measured
	realtimeWaits  = 2000                   // in a period, at most
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

// wait calls wait, which waits for a record, and measures what lies between.
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

// set makes the thread real-time or not. Without CAP_SYS_NICE it stays what it is.
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
