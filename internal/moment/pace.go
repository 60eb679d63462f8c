package moment

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/ringtap/ringtap/perfevent"
)

// Pace has the hits of probes wake a Reader's helper no more often than it may
// read. A wake-up costs the program about as much as the hit of a user probe, and reading much
// more, and hits may come 100,000 times a second.
type Pace struct {
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

// Dither is what is to be opened behind samplings whose hits a Reader is to visit. It changes which
// of the hits wake, where not all do: a program that does the same
// again and again would be seen in some of what it does only. The kernel counts all samples of
// a ring together, so that those of a clock, which wake nobody, have a hit before its turn.
func Dither(samplings []perfevent.Sampling) []perfevent.Sampling {
	if !slices.ContainsFunc(samplings, eachWakes) {
		return nil
	}
	return []perfevent.Sampling{{Event: perfevent.CPUClock(), Frequency: ditherRate, ByCPU: true, ExcludeIdle: true,
		Soon: true, SoonEvery: never}}
}

// eachWakes tells of a sampling whether each hit is a sample that wakes.
func eachWakes(s perfevent.Sampling) bool { return s.Soon && s.Period == 1 }

// NewPace is that of samplings which are a session's from first on.
func NewPace(samplings []perfevent.Sampling, first int) Pace {
	p := Pace{every: 1}
	for i, s := range samplings {
		if eachWakes(s) {
			p.samplings = append(p.samplings, first+i)
		}
	}
	return p
}

// choose chooses every how many hits are to wake, where so many come a second at a time.
func (p *Pace) choose(rate, now uint64) uint32 {
	least := thinnings[len(thinnings)-1]
	for _, n := range thinnings {
		if rate <= uint64(n)*Rate {
			least = n
			break
		}
	}
	p.most = max(p.most, least)
	if p.since == 0 {
		p.since = now
	}
	switch {
	case least > p.every, p.every == never:
		return least
	case now-p.since < aCalm:
		return p.every
	}
	most := p.most
	p.most, p.since = 0, now
	if worth*most < p.every {
		return most
	}
	return p.every
}

// Look looks at how many hits there were up to a time, and chooses how many of the next ones wake.
// It is called again and again while the session is read.
func (p *Pace) Look(r *Reader, hits, before uint64) {
	since := before - p.looked
	if len(p.samplings) == 0 || since < aLook {
		return
	}
	more, first := hits-p.hits, p.looked == 0
	p.hits, p.looked = hits, before
	if first {
		return
	}
	_, reads := r.Rung()
	if !reads && p.every == never {
		return
	}
	next := p.choose(more*uint64(time.Second)/since, before)
	if !reads && next > 1 {
		next = never
	}
	if next == p.every {
		return
	}
	switch err := r.session.WakeEvery(next, p.samplings...); {
	case errors.Is(err, perfevent.ErrGrowing):
	case err == nil:
		r.log.Info("interpreted functions are read at some of the hits", "every", next)
		p.every = next
		if next != never {
			r.thinned.Store(max(r.thinned.Load(), next))
		}
	default:
		p.samplings = nil
		if !errors.Is(err, perfevent.ErrNoTarget) {
			r.log.Warn("every hit wakes the reader of interpreted functions", "error", err)
		}
	}
}
