package live

import (
	"slices"

	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// copies adapts how much of the user stack the hits of an event carry. Hits start with copies that hold
// most stacks whole, because a clause may print the stack of the only hit. Under a storm of hits the
// copies shrink, and whole stacks that ringtap has seen by then complete those that are cut short.
type copies struct {
	sources []*source
	growth  stack.Growth
}

// copyBudget is how many bytes of stack copies per second make the hits of an event a storm.
const copyBudget = 64 << 20

// copyFlood is how many bytes of copies make a storm: a quarter of a ring, so that the rings hold the hits that
// come until the copies are small.
const copyFlood = maxRing / 4

// newCopies returns the copies of all events whose copies may change, for the samplings of a session.
func (f *feed) newCopies(samplings []perfevent.Sampling) []*copies {
	var all []*copies
	for i := 0; i < len(f.sources); {
		event := f.sources[i].event
		end := i
		for end < len(f.sources) && f.sources[end].event == event {
			end++
		}
		if sources := f.sources[i:end]; adapts(sources) {
			c := &copies{sources, stack.NewGrowth(&sources[0].stacks, samplings[i:end], i)}
			c.growth.Flood, c.growth.Once = copyFlood, true
			all = append(all, c)
		}
		i = end
	}
	return all
}

// adapts reports whether the copies of an event may change: they do not if clauses read variables from them.
func adapts(sources []*source) bool {
	switch sources[0].event.Place {
	case plan.User, plan.Tracepoint:
	default:
		return false
	}
	return sources[0].stacks.User && !slices.ContainsFunc(sources, (*source).readsMemory)
}

// look compares the stacks of all hits before a time with those of the last look, and changes the copies if needed.
// It reports whether the copies may have to change soon.
func (c *copies) look(f *feed, before uint64) (exceed bool) {
	var counts stack.GrowthCounts
	f.engine.Locked(func() { // hits may be handled meanwhile: see Early
		counts.Lost = f.lost
		for _, s := range c.sources {
			counts.Stacks += s.copies.Stacks
			counts.Cut += s.copies.Cut
			counts.Joined += s.copies.Joined
		}
	})
	c.growth.Look(f.session, counts, before, f.options.Logger)
	return c.growth.Exceeds(counts, before)
}
