package stack

import (
	"cmp"
	"errors"
	"log/slog"
	"time"

	"github.com/ringtap/ringtap/perfevent"
)

// A Growth adapts how much of the user stack samples carry. Copies grow when chains come out cut
// short, and shrink when samples exceed the budget or the kernel drops records. It changes only
// samplings whose every event is a sample: there the copy is most of what a hit costs the program.
// The zero Growth changes nothing.
type Growth struct {
	// Flood is how many bytes of copies in less than a quarter of a second make a storm. In a storm
	// copies shrink immediately. 0 means half of what two CPUs' rings hold.
	Flood uint64
	// Once says that copies shrink to the budget once. From then on they grow as if there were no
	// budget, until the kernel drops records.
	Once bool

	samplings []int  // indexes in the session
	bytes     uint32 // size of a copy; 0 if copies no longer change
	smallest  uint32 // lower limit of a copy
	budget    uint64 // bytes a second of all copies together; 0 means no limit
	counts    GrowthCounts
	looked    uint64 // when counts was taken; 0 means never
	first     uint64 // when stacks were first seen after an interval without any; 0 means not yet
	ceiling   uint32 // largest copy until the time until, after losses; 0 means none
	until     uint64
}

// GrowthCounts are what a Growth looks at, counted since the run's start.
type GrowthCounts struct {
	Stacks uint64 // user stacks
	Cut    uint64 // user stacks that were cut short
	Joined uint64 // cut stacks that were completed by a whole one
	Lost   uint64 // records that the kernel dropped
}

// A Grower is a session whose copies of the stack change while it runs: see perfevent.Session.
type Grower interface {
	GrowStack(bytes uint32, samplings ...int) error
	Grown(from uint64) bool
}

// sizes are the sizes in bytes that a copy of the stack may have. Most stacks end in the first
// few kilobytes, where each byte copied makes a hit slower.
var sizes = [...]uint32{512, 768, 1 << 10, 1536, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10}

// larger returns the next size above bytes. It returns false if bytes is the largest.
func larger(bytes uint32) (uint32, bool) {
	for _, size := range sizes {
		if size > bytes {
			return size, true
		}
	}
	return 0, false
}

// smaller returns the largest size whose copies stay within the budget at a rate, but no less than smallest.
func smaller(rate, budget uint64, smallest uint32) uint32 {
	best := smallest
	for _, size := range sizes {
		if size > best && uint64(size)*rate <= budget {
			best = size
		}
	}
	return best
}

// half returns the largest size that is at most half of bytes, but no less than smallest.
func half(bytes, smallest uint32) uint32 {
	best := smallest
	for _, size := range sizes {
		if size > best && 2*size <= bytes {
			best = size
		}
	}
	return best
}

// modest is how long copies stay small after the kernel dropped records, in nanoseconds.
const modest = 10e9

// steady is the shortest time over which Look computes how many stacks come a second, in
// nanoseconds. Programs work in bursts, so a shorter time would mislead. Look reacts to a
// storm before that: see floods.
const steady = 250e6

// cutShare is how many stacks there must be for each one that is cut short. If more are cut,
// copies grow.
const cutShare = 100

// NewGrowth returns the Growth of a plan's samplings, whose indexes in the session start at first.
func NewGrowth(stacks *Stacks, samplings []perfevent.Sampling, first int) Growth {
	g := Growth{bytes: stacks.Copy, smallest: min(stacks.Copy, sizes[0]), budget: stacks.Budget}
	for i := range samplings {
		if samplings[i].Period != 1 || stacks.Unwind == FP {
			return Growth{}
		}
		if samplings[i].UserStack == stacks.Copy { // a larger copy serves another purpose
			g.samplings = append(g.samplings, first+i)
		}
	}
	return g
}

// Start says when the samples start, so that the first Look already compares. Without it, the first Look only
// takes note of the counts.
func (g *Growth) Start(when uint64) { g.looked = when }

// Exceeds reports whether the copies that came since the last Look exceed the budget, so that Look may be about
// to shrink them. A session makes one change at a time.
func (g *Growth) Exceeds(now GrowthCounts, before uint64) bool {
	since := before - g.looked
	return g.bytes > g.smallest && since > 0 && g.over((now.Stacks-g.counts.Stacks)*uint64(time.Second)/since)
}

// Look compares the counts of all samples before a time with those of the last call, and changes the
// copies if needed.
func (g *Growth) Look(session Grower, now GrowthCounts, before uint64, logger *slog.Logger) {
	stacks, cut, since := now.Stacks-g.counts.Stacks, now.Cut-g.counts.Cut, before-g.looked
	cut -= min(cut, now.Joined-g.counts.Joined)
	if stacks > 0 && g.first == 0 {
		g.first = before
	}
	// The first stacks may have come just before they were seen. Until steady has passed from
	// then on, the rate seems far too low, and the larger copies of a storm would fill the rings.
	known := since >= steady && (stacks == 0 || before-g.first >= steady)
	if g.bytes == 0 || since == 0 || !known && !g.floods(stacks, since) {
		return // in a storm two rounds may end at one time
	}
	from, lost := g.looked, now.Lost-g.counts.Lost
	g.counts, g.looked = now, before
	if stacks == 0 {
		g.first = 0
	}
	if from == 0 {
		return // the first call
	}
	rate := stacks * uint64(time.Second) / since
	next := g.choose(stacks, cut, rate)
	if lost > stacks/cutShare {
		g.ceiling, g.until = half(g.bytes, g.smallest), before+modest
	}
	if g.ceiling > 0 && before < g.until {
		next = min(next, g.ceiling)
	}
	if next == g.bytes || !session.Grown(from) {
		return
	}
	err := session.GrowStack(next, g.samplings...)
	switch {
	case errors.Is(err, perfevent.ErrGrowing):
		return // the next call tries again
	case errors.Is(err, perfevent.ErrNoTarget):
		g.bytes = 0 // the target has ended
		return
	case err != nil:
		logger.Warn("the copies of the stack stay as they are", "bytes", g.bytes, "error", err)
		g.bytes = 0
		return
	}
	logger.Info("copying more or less of the stack", "bytes", next, "cut", cut, "stacks", stacks)
	if g.Once && g.over(rate) {
		g.budget = 0
	}
	g.bytes = next
}

// floods reports whether a number of stacks, in a time of since nanoseconds that may be shorter than
// steady, is a storm: their copies would soon fill the rings.
func (g *Growth) floods(stacks, since uint64) bool {
	return stacks*uint64(g.bytes) > cmp.Or(g.Flood, flood) && g.over(stacks*uint64(time.Second)/since)
}

// flood is half of what two CPUs' rings hold, in bytes.
const flood = 32 << 20

// over reports whether copies at a rate, in stacks a second, take more than twice the budget.
func (g *Growth) over(rate uint64) bool {
	return g.budget > 0 && uint64(g.bytes)*rate > 2*g.budget
}

// choose returns the size of the next copies. stacks is how many stacks came since the last
// Look, cut how many of them were cut short, and rate how many came a second.
func (g *Growth) choose(stacks, cut, rate uint64) uint32 {
	if g.over(rate) {
		return smaller(rate, g.budget, g.smallest)
	}
	next, ok := larger(g.bytes)
	if !ok || cut*cutShare <= stacks || g.budget > 0 && uint64(next)*rate > g.budget {
		return g.bytes
	}
	// If few samples come, whole stacks are worth more than small copies.
	for _, size := range sizes {
		if size <= leap*g.bytes && uint64(size)*rate <= min(cmp.Or(g.budget, plenty), plenty) {
			next = max(next, size)
		}
	}
	return next
}

// leap is how many times larger copies may become in one step. plenty is how many bytes a
// second may be copied without anybody noticing.
const (
	leap   = 8
	plenty = 64 << 20
)
