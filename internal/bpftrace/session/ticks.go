package session

import "time"

// ticks are the times of a program's intervals. Tick k of an interval is due k periods after the
// start, no matter how late earlier ticks were.
type ticks struct {
	start   time.Duration // on the clock of Hit.Time
	timers  []timer
	Skipped uint64 // ticks that were dropped because the program could not keep up
}

type timer struct {
	period time.Duration
	next   time.Duration
}

// behind is how late a tick may be. Without this limit, a program that takes longer than its
// interval would never end.
const behind = time.Second

// newTicks starts intervals with these periods.
func newTicks(start time.Duration, periods []time.Duration) *ticks {
	t := &ticks{start: start}
	for _, p := range periods {
		t.timers = append(t.timers, timer{period: p, next: start + p})
	}
	return t
}

// next returns the interval that ticks next and its time. If two tick at the same time, it returns
// the first one. ok is false if there are no intervals.
func (t *ticks) next() (interval int, when time.Duration, ok bool) {
	for i := range t.timers {
		if !ok || t.timers[i].next < when {
			interval, when, ok = i, t.timers[i].next, true
		}
	}
	return interval, when, ok
}

// done schedules the interval's next tick. It skips ticks that would be too late.
func (t *ticks) done(interval int, now time.Duration) {
	timer := &t.timers[interval]
	timer.next += timer.period
	if late := now - timer.next; late > behind {
		skip := late/timer.period + 1
		timer.next += skip * timer.period
		t.Skipped += uint64(skip)
	}
}
