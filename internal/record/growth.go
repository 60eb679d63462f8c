package record

import (
	"log/slog"

	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// growth adapts how much of the stack is copied at the hits of events whose every hit is a sample.
type growth struct {
	session stack.Grower
	logger  *slog.Logger
	events  []eventGrowth
	lost    uint64 // records, of all events
}

// eventGrowth is what growth needs of an event.
type eventGrowth struct {
	stack.Growth
	counts stack.GrowthCounts
}

// copyBudget is how many bytes of stack a second the hits of an event may copy. That takes a twentieth
// of a CPU.
const copyBudget = 64 << 20

// newGrowth returns the growth of a session's events.
func (o *Options) newGrowth(session stack.Grower, samplings []perfevent.Sampling) growth {
	g := growth{session: session, logger: o.Logger, events: make([]eventGrowth, len(o.Events))}
	for i := range o.Events {
		stacks := o.stacksOf(&o.Events[i])
		if stacks.User && o.Stacks.Copy == 0 { // else the user has chosen the size
			g.events[i].Growth = stack.NewGrowth(&stacks, samplings[i:i+1], i)
		}
	}
	return g
}

// count counts a stack of an event.
func (g *growth) count(event int, cut bool) {
	c := &g.events[event].counts
	c.Stacks++
	if cut {
		c.Cut++
	}
}

// counts returns what there was so far, by event.
func (g *growth) counts() []stack.GrowthCounts {
	all := make([]stack.GrowthCounts, len(g.events))
	for i := range all {
		all[i] = g.events[i].counts
		all[i].Lost = g.lost
	}
	return all
}

// look adapts the copies by the counts of all hits before a time. It may run while hits are counted.
func (g *growth) look(counts []stack.GrowthCounts, before uint64) {
	for i := range counts {
		g.events[i].Look(g.session, counts[i], before, g.logger)
	}
}
