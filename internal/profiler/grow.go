package profiler

import (
	"cmp"
	"errors"
	"time"

	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// growth has the copies of the stack grow where chains come out cut. Where every
// event is a sample, a run begins with small ones: what is copied is most of what
// a hit costs the program. One that samples by time begins with large ones.
//
// Where there is a budget, copies stay within it: there are programs that switch
// threads a few times a second, and all at once 100,000 times.
type growth struct {
	samplings []int  // of the session
	bytes     uint32 // of a copy; 0 when it is not to grow any more
	least     uint32 // that copies become smaller to
	budget    uint64 // bytes a second of all copies; 0: no bound
	counts    table.Counts
	looked    uint64 // when counts was taken; 0: never
	most      uint32 // that is read in time, as losses have shown, until the time given; 0: not known
	until     uint64
}

// sizes are the copies that are grown to, in bytes. Most stacks end in the first
// few kilobytes, and there a hit costs by the byte.
var sizes = [...]uint32{512, 768, 1 << 10, 1536, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10}

// larger is the size after the given one; false if there is none.
func larger(bytes uint32) (uint32, bool) {
	for _, size := range sizes {
		if size > bytes {
			return size, true
		}
	}
	return 0, false
}

// smaller is the largest size of which so many may be copied a second, at least
// the least.
func smaller(rate, budget uint64, least uint32) uint32 {
	best := least
	for _, size := range sizes {
		if size > best && uint64(size)*rate <= budget {
			best = size
		}
	}
	return best
}

// half is the largest size that is at most half as large, at least the least.
func half(bytes, least uint32) uint32 {
	best := least
	for _, size := range sizes {
		if size > best && 2*size <= bytes {
			best = size
		}
	}
	return best
}

// modest is how long, in nanoseconds, copies stay small after records were lost.
const modest = 10e9

// steady is how long stacks are counted before it is said how many come a second, in
// nanoseconds: much of what programs do comes in bursts. A storm is told sooner.
const steady = 250e6

// cutShare is the share of stacks, one of so many, that may be cut.
const cutShare = 100

// newGrowth is how the copies of a plan grow whose samplings are the session's
// from first on.
func newGrowth(plan *table.Plan, first int) growth {
	g := growth{bytes: plan.Stacks.Copy, least: min(plan.Stacks.Copy, sizes[0]), budget: plan.Stacks.Budget}
	for i := range plan.Samplings {
		if plan.Samplings[i].Period != 1 || plan.Stacks.Unwind == stack.FP {
			return growth{}
		}
		if plan.Samplings[i].UserStack == plan.Stacks.Copy { // else it is copied for something else
			g.samplings = append(g.samplings, first+i)
		}
	}
	return g
}

// samplings is how many samplings plans have.
func samplings(plans []table.Plan) (n int) {
	for i := range plans {
		n += len(plans[i].Samplings)
	}
	return n
}

// grow makes the copies of a collector's samplings larger if many of its samples
// since the last call, whose times are before the one given, were cut, and smaller
// if they are beyond their budget.
func (r *profiling) grow(g *growth, now table.Counts, before uint64) {
	// Of what has no stack, as the ends of calls, nothing is copied.
	stacks, cut, since := now.Stacks-g.counts.Stacks, now.Truncated-g.counts.Truncated, before-g.looked
	cut -= min(cut, now.Joined-g.counts.Joined)
	if g.bytes == 0 || since == 0 || since < steady && !g.floods(stacks, since) {
		return // in a storm two rounds may end at one time
	}
	from, lost := g.looked, now.Lost-g.counts.Lost
	g.counts, g.looked = now, before
	if from == 0 {
		return // the first look
	}
	next := g.choose(stacks, cut, stacks*uint64(time.Second)/since)
	if lost > stacks/cutShare {
		g.most, g.until = half(g.bytes, g.least), before+modest
	}
	if g.most > 0 && before < g.until {
		next = min(next, g.most)
	}
	if next == g.bytes || !r.live.Grown(from) {
		return
	}
	err := r.live.GrowStack(next, g.samplings...)
	switch {
	case errors.Is(err, perfevent.ErrGrowing):
		return // the samples of the next round will say it again
	case errors.Is(err, perfevent.ErrNoTarget):
		g.bytes = 0 // it has ended
		return
	case err != nil:
		r.opts.Logger.Warn("the copies of the stack stay as they are", "bytes", g.bytes, "error", err)
		g.bytes = 0
		return
	}
	r.opts.Logger.Info("copying more or less of the stack", "bytes", next, "cut", cut, "stacks", stacks)
	g.bytes = next
}

// floods tells whether so many stacks in less than a steady while are a storm: what is
// copied of them would soon fill the rings.
func (g *growth) floods(stacks, since uint64) bool {
	return stacks*uint64(g.bytes) > flood && g.over(stacks*uint64(time.Second)/since)
}

// flood is half of what two CPUs' rings hold, in bytes.
const flood = 32 << 20

// over tells whether so many stacks a second are far beyond the budget.
func (g *growth) over(rate uint64) bool {
	return g.budget > 0 && uint64(g.bytes)*rate > 2*g.budget
}

// choose chooses the size of the next copies, by the stacks of a while, how many of
// them were cut, and how many come a second.
func (g *growth) choose(stacks, cut, rate uint64) uint32 {
	if g.over(rate) {
		return smaller(rate, g.budget, g.least)
	}
	next, ok := larger(g.bytes)
	if !ok || cut*cutShare <= stacks || g.budget > 0 && uint64(next)*rate > g.budget {
		return g.bytes
	}
	// Where samples are few, whole stacks soon are worth more than small copies.
	for _, size := range sizes {
		if size <= leap*g.bytes && uint64(size)*rate <= min(cmp.Or(g.budget, plenty), plenty) {
			next = max(next, size)
		}
	}
	return next
}

// leap is how many times larger copies may become at once; plenty is how many bytes a
// second of them nobody notices.
const (
	leap   = 8
	plenty = 64 << 20
)
