package perfevent

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// urgent has a goroutine look at the rings within microseconds of a record,
// where Options.Seen wants it: on a thread of its own that runs before others as
// soon as it is woken (SCHED_FIFO, the lowest of the real-time priorities).
//
// Such a thread could take a CPU for itself, and each record that wakes it costs
// the program that made it. So for a second it is one like all others, and looks
// every few milliseconds, if it had work for more than half of the time or was
// woken too often.
type urgent struct {
	own   *unix.SchedAttr // what the thread is but for us; nil if it must stay that
	real  bool
	since time.Time // the begin of the period under way
	idle  time.Duration
	waits int
	until time.Time // the end of a second of rest
}

const (
	urgentPeriod = 100 * time.Millisecond // for which work is measured
	urgentWaits  = 2000                   // in a period, at most
	restPeriod   = time.Second
	restWait     = 2 * time.Millisecond
)

// newUrgent makes the caller's thread an urgent one, until leave.
func newUrgent() *urgent {
	runtime.LockOSThread()
	u := &urgent{since: time.Now()}
	if own, err := unix.SchedGetAttr(0, 0); err == nil && own.Policy == unix.SCHED_NORMAL {
		u.own = own
	}
	u.set(true)
	return u
}

// wait calls wait, which waits for a record, and measures what lies between.
func (u *urgent) wait(wait func() error) error {
	before := time.Now()
	if before.Before(u.until) {
		time.Sleep(restWait)
		return nil
	}
	u.set(true)
	err := wait()
	now := time.Now()
	u.idle += now.Sub(before)
	u.waits++
	if passed := now.Sub(u.since); passed >= urgentPeriod {
		if u.idle < passed/2 || u.waits > urgentWaits*int(passed/urgentPeriod) {
			u.set(false)
			u.until = now.Add(restPeriod)
			now = u.until
		}
		u.since, u.idle, u.waits = now, 0, 0
	}
	return err
}

func (u *urgent) leave() {
	u.set(false)
	runtime.UnlockOSThread()
}

// set makes the thread real-time or not. Without CAP_SYS_NICE it stays what it is.
func (u *urgent) set(real bool) {
	if u.real == real || u.own == nil {
		return
	}
	attr := u.own
	if real {
		attr = &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
	}
	if unix.SchedSetAttr(0, attr, 0) == nil {
		u.real = real
	}
}
