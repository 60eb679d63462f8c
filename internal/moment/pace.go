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
//
// Samplings may be urgent. Each of their hits wakes the helper as long as they take half of what it may
// read; the others have the rest. Beyond that all hits are the same: the kernel counts the samples of a ring
// together, so that an event that wakes seldom would hardly ever do so beside one that wakes more often.
type Pace struct {
	urgent, others pacer
	hits           Hits // when it was looked at
	looked         uint64
}

// Hits are how many hits there were of a Pace's samplings.
type Hits struct {
	All    uint64
	Urgent uint64 // of these, of urgent samplings
}

// pacer is samplings that wake the helper at each so many hits.
type pacer struct {
	samplings []int  // of the session
	every     uint32 // hits from one that wakes to the next
	most      uint32 // that was called for since then
	since     uint64
}

// thinnings are how many hits there may be from one that wakes to the next. They are prime, as what a
// program repeats seldom is a multiple of.
var thinnings = [...]uint32{1, 3, 7, 17, 37, 79, 163, 331, 673, 1361, 2729, 5471, 10949}

// never is that many where there is no interpreter to read.
const never = math.MaxInt32

// aLook is how long hits are counted before it is said how many come a second, and aCalm how long
// they come less often before more of them wake, in nanoseconds. A change is worth the
// while if worth times as many wake then, or all of them.
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

// NewPace is that of samplings which are a session's from first on. Urgent are indexes of
// samplings.
func NewPace(samplings []perfevent.Sampling, urgent []int, first int) Pace {
	p := Pace{urgent: pacer{every: 1}, others: pacer{every: 1}}
	for i, s := range samplings {
		switch {
		case !eachWakes(s):
		case slices.Contains(urgent, i):
			p.urgent.samplings = append(p.urgent.samplings, first+i)
		default:
			p.others.samplings = append(p.others.samplings, first+i)
		}
	}
	return p
}

// choose chooses every how many hits are to wake, where rate of them come a second at a time, and most
// may wake.
func (p *pacer) choose(rate, most, now uint64) uint32 {
	least := thinnings[len(thinnings)-1]
	for _, n := range thinnings {
		if rate <= uint64(n)*most {
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
	needed := p.most
	p.most, p.since = 0, now
	if needed == 1 || worth*needed < p.every {
		return needed
	}
	return p.every
}

// choose chooses every how many urgent hits and others are to wake, by how many come a second.
func (p *Pace) choose(rate Hits, now uint64) (urgent, others uint32) {
	if len(p.urgent.samplings) == 0 {
		return 1, p.others.choose(rate.All, Rate, now)
	}
	if p.urgent.choose(rate.Urgent, Rate/2, now) == 1 {
		return 1, p.others.choose(rate.All-rate.Urgent, Rate/2, now)
	}
	all := p.others.choose(rate.All, Rate, now)
	return all, all
}

// Look looks at how many hits there were up to a time, and chooses how many of the next ones wake.
// It is called again and again while the session is read.
func (p *Pace) Look(r *Reader, hits Hits, before uint64) {
	since := before - p.looked
	if len(p.urgent.samplings)+len(p.others.samplings) == 0 || since < aLook {
		return
	}
	more, first := Hits{hits.All - p.hits.All, hits.Urgent - p.hits.Urgent}, p.looked == 0
	p.hits, p.looked = hits, before
	if first {
		return
	}
	_, reads := r.Rung()
	if !reads && p.others.every == never {
		return
	}
	aSecond := func(n uint64) uint64 { return n * uint64(time.Second) / since }
	urgent, others := p.choose(Hits{aSecond(more.All), aSecond(more.Urgent)}, before)
	if !reads && max(urgent, others) > 1 {
		urgent, others = never, never
	}
	if urgent == others {
		wake(r, urgent, &p.urgent, &p.others) // the session makes one change at a time
	} else if wake(r, urgent, &p.urgent) {
		wake(r, others, &p.others)
	}
}

// wake has each so many hits of pacers wake. It reports false if that must be tried again.
func wake(r *Reader, every uint32, pacers ...*pacer) bool {
	var samplings []int
	for _, p := range pacers {
		if p.every != every {
			samplings = append(samplings, p.samplings...)
		}
	}
	if len(samplings) == 0 {
		return true
	}
	err := r.session.WakeEvery(every, samplings...)
	if errors.Is(err, perfevent.ErrGrowing) {
		return false
	}
	for _, p := range pacers {
		if p.every = every; err != nil {
			p.samplings = nil
		}
	}
	switch {
	case err == nil:
		r.log.Info("interpreted functions are read at some of the hits", "every", every)
		if every != never {
			r.thinned.Store(max(r.thinned.Load(), every))
		}
	case !errors.Is(err, perfevent.ErrNoTarget):
		r.log.Warn("every hit wakes the reader of interpreted functions", "error", err)
	}
	return true
}
