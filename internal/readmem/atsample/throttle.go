package atsample

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/ringtap/ringtap/perfevent"
)

// A WakeupThrottle keeps hits of probes from waking a Reader's helper more often than MaxVisitRate. Hits may come
// 100,000 times a second. A wake-up costs the program about as much as the hit of a uprobe, and the reading
// costs much more.
//
// Urgent samplings go first: each of their hits wakes the helper while they need at most half
// of that rate. The other samplings get the rest. If there are more urgent hits, all samplings are treated the
// same: the kernel counts the samples of a ring together (wakeup_events). So an event that seldom wakes the helper
// would hardly ever do so next to one that often does.
type WakeupThrottle struct {
	urgent, others hitGroup
	lastHits       Hits // as of lastTime
	lastTime       uint64
}

// Hits counts the hits of a WakeupThrottle's samplings.
type Hits struct {
	All    uint64
	Urgent uint64 // of All, hits of urgent samplings
}

// hitGroup is samplings of which every wakeupEvery-th hit wakes the helper.
type hitGroup struct {
	samplings   []int // indexes in the session
	wakeupEvery uint32
	maxNeeded   uint32 // the largest interval that a rate called for since neededSince
	neededSince uint64 // CLOCK_MONOTONIC in nanoseconds
}

// wakeupIntervals are the possible values of wakeupEvery. They are prime, so that they seldom are a multiple of
// the length of a loop in the program.
var wakeupIntervals = [...]uint32{1, 3, 7, 17, 37, 79, 163, 331, 673, 1361, 2729, 5471, 10949}

// neverWake is wakeupEvery while no interpreter is watched.
const neverWake = math.MaxInt32

// measureFor is how long hits are counted to get their rate, in nanoseconds. relaxAfter is how long the rate must
// have been lower before more hits wake, also in nanoseconds. Even then wakeupEvery stays as it is, unless more than
// minGain times as many hits would wake, or all of them.
const (
	measureFor = 100e6
	relaxAfter = 2e9
	minGain    = 4
)

// dithers are Dither's clocks on each CPU, together about 500 samples of 5 µs each. A sample puts the next wake-up
// off by delay hits, less one, if so many have come since the last one. Frequencies and delays are prime, so that
// the sum of the delays between two wake-ups changes from one to the next.
var dithers = [...]struct {
	hz    uint64
	delay uint32
}{{83, 2}, {97, 5}, {101, 11}, {107, 29}, {113, 67}}

// Dither returns the samplings to open after samplings, whose hits a Reader visits. If each n-th hit wakes, a
// program with a loop of n hits would be seen only in one place. Dither adds clocks, whose samples shift which hits
// wake. The kernel counts the samples of a ring together, and wakes the reader when the count reaches the
// WakeupEvents of the event that is sampled, which it then subtracts (perf_output_sample in
// kernel/events/core.c). Most of the clocks' samples wake the helper in vain.
func Dither(samplings []perfevent.Sampling) (clocks []perfevent.Sampling) {
	if !slices.ContainsFunc(samplings, wakesAtEachHit) {
		return nil
	}
	for _, d := range dithers {
		clocks = append(clocks, perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: d.hz, ByCPU: true,
			ExcludeIdle: true, WakeupEvents: d.delay})
	}
	return clocks
}

// wakesAtEachHit reports whether s is an event whose hits each make a sample and wake the reader.
func wakesAtEachHit(s perfevent.Sampling) bool { return s.WakeupEvents > 0 && s.Period == 1 }

// NewWakeupThrottle returns a throttle for samplings, which a session has from index first on. urgent has the
// indexes of urgent ones in samplings.
func NewWakeupThrottle(samplings []perfevent.Sampling, urgent []int, first int) WakeupThrottle {
	t := WakeupThrottle{urgent: hitGroup{wakeupEvery: 1}, others: hitGroup{wakeupEvery: 1}}
	for i, s := range samplings {
		switch {
		case !wakesAtEachHit(s):
		case slices.Contains(urgent, i):
			t.urgent.samplings = append(t.urgent.samplings, first+i)
		default:
			t.others.samplings = append(t.others.samplings, first+i)
		}
	}
	return t
}

// choose returns n such that every n-th hit wakes the helper. Of rate hits per second, at most maxRate may wake
// it. A higher rate counts immediately, a lower one after relaxAfter. now is in nanoseconds.
func (g *hitGroup) choose(rate, maxRate, now uint64) uint32 {
	needed := wakeupIntervals[len(wakeupIntervals)-1]
	for _, n := range wakeupIntervals {
		if rate <= uint64(n)*maxRate {
			needed = n
			break
		}
	}
	g.maxNeeded = max(g.maxNeeded, needed)
	if g.neededSince == 0 {
		g.neededSince = now
	}
	switch {
	case needed > g.wakeupEvery, g.wakeupEvery == neverWake:
		return needed
	case now-g.neededSince < relaxAfter:
		return g.wakeupEvery
	}
	longest := g.maxNeeded
	g.maxNeeded, g.neededSince = 0, now
	if longest == 1 || minGain*longest < g.wakeupEvery {
		return longest
	}
	return g.wakeupEvery
}

// choose returns wakeupEvery for urgent samplings and for the others, given rates in hits per second.
func (t *WakeupThrottle) choose(rate Hits, now uint64) (urgent, others uint32) {
	if len(t.urgent.samplings) == 0 {
		return 1, t.others.choose(rate.All, MaxVisitRate, now)
	}
	if t.urgent.choose(rate.Urgent, MaxVisitRate/2, now) == 1 {
		return 1, t.others.choose(rate.All-rate.Urgent, MaxVisitRate/2, now)
	}
	both := t.others.choose(rate.All, MaxVisitRate, now)
	return both, both
}

// Adjust chooses which of the next hits wake the helper of r. total is how many hits there were up to time before
// (CLOCK_MONOTONIC in nanoseconds). Call it from perfevent.Reader.Round, while the session is read.
func (t *WakeupThrottle) Adjust(r *Reader, total Hits, before uint64) {
	elapsed := before - t.lastTime
	if len(t.urgent.samplings)+len(t.others.samplings) == 0 || elapsed < measureFor {
		return
	}
	hits, first := Hits{total.All - t.lastHits.All, total.Urgent - t.lastHits.Urgent}, t.lastTime == 0
	t.lastHits, t.lastTime = total, before
	if first {
		return
	}
	_, canRead := r.schedClass()
	if !canRead && t.others.wakeupEvery == neverWake {
		return
	}
	perSecond := func(n uint64) uint64 { return n * uint64(time.Second) / elapsed }
	urgent, others := t.choose(Hits{perSecond(hits.All), perSecond(hits.Urgent)}, before)
	if !canRead && max(urgent, others) > 1 {
		urgent, others = neverWake, neverWake
	}
	if urgent == others {
		setWakeupEvery(r, urgent, &t.urgent, &t.others) // one call: the session makes one change at a time
	} else if setWakeupEvery(r, urgent, &t.urgent) {
		setWakeupEvery(r, others, &t.others)
	}
}

// setWakeupEvery makes every n-th hit of groups wake the helper, where n is wakeupEvery. It reports false if the
// session is still making an earlier change, so that the caller tries again. After any other error the group
// stays as it is for good.
func setWakeupEvery(r *Reader, wakeupEvery uint32, groups ...*hitGroup) bool {
	var samplings []int
	for _, g := range groups {
		if g.wakeupEvery != wakeupEvery {
			samplings = append(samplings, g.samplings...)
		}
	}
	if len(samplings) == 0 {
		return true
	}
	err := r.session.SetWakeupEvents(wakeupEvery, samplings...)
	if errors.Is(err, perfevent.ErrGrowing) {
		return false
	}
	for _, g := range groups {
		if g.wakeupEvery = wakeupEvery; err != nil {
			g.samplings = nil
		}
	}
	switch {
	case err == nil:
		r.log.Info("interpreted functions are read at some of the hits", "every", wakeupEvery)
		if wakeupEvery != neverWake {
			r.maxWakeupEvery.Store(max(r.maxWakeupEvery.Load(), wakeupEvery))
		}
	case !errors.Is(err, perfevent.ErrNoTarget):
		r.log.Warn("every hit wakes the reader of interpreted functions", "error", err)
	}
	return true
}
