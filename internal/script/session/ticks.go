package session

import "time"

// ticks are the moments of a program's intervals. The k-th tick of an interval is k periods
// after the start, however late it is delivered.
type ticks struct {
	start   time.Duration // on the clock that hits have
	timers  []timer
	Skipped uint64 // ticks that were left out because the program could not keep up
}

type timer struct {
	period time.Duration
	next   time.Duration
}

// behind is how late a tick may be. A program that needs longer than its interval would never
// come to an end otherwise.
const behind = time.Second

// newTicks starts intervals of these periods.
func newTicks(start time.Duration, periods []time.Duration) *ticks {
	t := &ticks{start: start}
	for _, p := range periods {
		t.timers = append(t.timers, timer{period: p, next: start + p})
	}
	return t
}

// next returns the interval that ticks first, and when; of two that tick at once the one that
// stands first. ok is false if there is none.
func (t *ticks) next() (interval int, at time.Duration, ok bool) {
	for i := range t.timers {
		if !ok || t.timers[i].next < at {
			interval, at, ok = i, t.timers[i].next, true
		}
	}
	return interval, at, ok
}

// done is called after a tick: the interval's next one follows. Ticks that are too late are
// skipped.
func (t *ticks) done(interval int, now time.Duration) {
	timer := &t.timers[interval]
	timer.next += timer.period
	if late := now - timer.next; late > behind {
		skip := late/timer.period + 1
		timer.next += skip * timer.period
		t.Skipped += uint64(skip)
	}
}
