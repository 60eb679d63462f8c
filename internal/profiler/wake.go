package profiler

import (
	"errors"
	"math"
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
	most      uint32 // that was called for since then
	since     uint64
}

// thinnings are how many hits there may be from one that wakes to the next. They are prime, as what a
// program repeats seldom is a multiple of.
var thinnings = [...]uint32{1, 3, 7, 17, 37, 79, 163, 331, 673, 1361, 2729, 5471, 10949}

// never is that many where there is no interpreter to read.
const never = math.MaxInt32

// aLook is how long hits are counted before it is said how many come a second, and aCalm how long
// they come less often before more of them wake, in nanoseconds. worth is how many times more
// a change is made for.
const (
	aLook = 100e6
	aCalm = 2e9
	worth = 4
)

// ditherRate is in samples a second and CPU. A sample takes 5 µs.
const ditherRate = 499

// dither is what changes which of the hits wake, where not all do: a program that does the same
// again and again would be seen in some of what it does only. The kernel counts all samples of
// a ring together, so that those of a clock, which wake nobody, have a hit before its turn.
func dither(plans []table.Plan) []perfevent.Sampling {
	for i := range plans {
		if w := newWaking(&plans[i], 0); len(w.samplings) > 0 {
			return []perfevent.Sampling{{Event: perfevent.CPUClock(), Frequency: ditherRate, ByCPU: true, ExcludeIdle: true,
				Soon: true, SoonEvery: never}}
		}
	}
	return nil
}

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

// choose chooses every how many hits are to wake, where so many come a second at a time.
func (w *waking) choose(rate, now uint64) uint32 {
	least := thinnings[len(thinnings)-1]
	for _, n := range thinnings {
		if rate <= uint64(n)*moment.Rate {
			least = n
			break
		}
	}
	w.most = max(w.most, least)
	if w.since == 0 {
		w.since = now
	}
	switch {
	case least > w.every, w.every == never:
		return least
	case now-w.since < aCalm:
		return w.every
	}
	most := w.most
	w.most, w.since = 0, now
	if worth*most < w.every {
		return most
	}
	return w.every
}

// wake looks at the hits since the last call, up to the time given.
func (r *profiling) wake(w *waking, now table.Counts, before uint64) {
	since := before - w.looked
	if r.moments == nil || len(w.samplings) == 0 || since < aLook {
		return
	}
	hits, first := now.Stacked-w.hits, w.looked == 0
	w.hits, w.looked = now.Stacked, before
	if first {
		return
	}
	_, reads := r.moments.Rung()
	if !reads && w.every == never {
		return
	}
	next := w.choose(hits*uint64(time.Second)/since, before)
	if !reads && next > 1 {
		next = never
	}
	if next == w.every {
		return
	}
	switch err := r.live.WakeEvery(next, w.samplings...); {
	case errors.Is(err, perfevent.ErrGrowing):
	case err == nil:
		r.opts.Logger.Info("interpreted functions are read at some of the hits", "every", next)
		w.every = next
		if next != never {
			r.thinned.Store(max(r.thinned.Load(), next))
		}
	default:
		w.samplings = nil
		if !errors.Is(err, perfevent.ErrNoTarget) {
			r.opts.Logger.Warn("every hit wakes the reader of interpreted functions", "error", err)
		}
	}
}
