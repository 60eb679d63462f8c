package profiler

import (
	"errors"
	"time"

	"github.com/ringtap/ringtap/internal/moment"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// waking has the hits of probes wake the reader of interpreted functions no more often than it may
// read. A wake-up costs the program about as much as the hit of a user probe, and reading much
// more, and hits may come 100,000 times a second.
type waking struct {
	samplings []int  // of the session; none: nothing is to be done
	every     uint32 // hits from one that wakes to the next
	hits      uint64 // when it was looked at
	looked    uint64
}

// thinnings are how many hits there may be from one that wakes to the next. They are prime, so that a
// program that does the same again and again is seen in all that it does.
var thinnings = [...]uint32{1, 3, 7, 17, 37, 79, 163, 331, 673, 1361, 2729, 5471, 10949}

// aLook is how long hits are counted before it is said how many come a second, in nanoseconds.
const aLook = 100e6

// newWaking is that of a plan whose samplings are the session's from first on.
func newWaking(plan *table.Plan, first int) waking {
	w := waking{every: 1}
	for i, s := range plan.Samplings {
		if s.Soon && s.Period == 1 {
			w.samplings = append(w.samplings, first+i)
		}
	}
	return w
}

// choose chooses every how many hits are to wake, where so many come a second. Fewer of them
// wake at once, and more only if that is worth a change.
func (w *waking) choose(rate uint64) uint32 {
	least := thinnings[len(thinnings)-1]
	for _, n := range thinnings {
		if rate <= uint64(n)*moment.Rate {
			least = n
			break
		}
	}
	const worth = 4
	if least > w.every || worth*least < w.every {
		return least
	}
	return w.every
}

// wake looks at the hits since the last call, up to the time given.
func (r *profiling) wake(w *waking, now table.Counts, before uint64) {
	since := before - w.looked
	if len(w.samplings) == 0 || since < aLook {
		return
	}
	hits, first := now.Stacked-w.hits, w.looked == 0
	w.hits, w.looked = now.Stacked, before
	next := w.choose(hits * uint64(time.Second) / since)
	if first || next == w.every {
		return
	}
	switch err := r.live.WakeEvery(next, w.samplings...); {
	case errors.Is(err, perfevent.ErrGrowing):
	case err == nil:
		r.opts.Logger.Info("interpreted functions are read at some of the hits", "every", next)
		w.every = next
	default:
		w.samplings = nil
		if !errors.Is(err, perfevent.ErrNoTarget) {
			r.opts.Logger.Warn("every hit wakes the reader of interpreted functions", "error", err)
		}
	}
}
