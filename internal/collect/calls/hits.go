package calls

import (
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Hits is the probe collector that counts the hits of a probe.
type Hits struct {
	Spec    string // the probe as the user wrote it
	Sources []probe.Source
	Stacks  stack.Stacks
}

// Plan returns one sampling per source, with a sample at every hit.
func (h *Hits) Plan() table.Plan {
	stacks := h.Stacks.Copying(stack.StormCopy)
	p := table.Plan{
		Name: "probe", Event: h.Spec, Stacks: stacks,
		Metrics: []profile.Metric{{Name: h.Spec + "Count", Type: "hits", Unit: "counts", Scale: 1}},
	}
	for i := range h.Sources {
		s := h.Sources[i].Sampling()
		stacks.Prepare(&s)
		p.Samplings = append(p.Samplings, s)
	}
	return p
}

// Fallback returns false: there is no other way to see a probe's hits.
func (h *Hits) Fallback(error) (note string, ok bool) { return "", false }

// Skip keeps every hit.
func (h *Hits) Skip(*perfevent.Sample) bool { return false }

// Fold counts a hit.
func (h *Hits) Fold(rows *table.Rows, _ int, s *perfevent.Sample) { rows.Add(rows.Of(s), 0, 1) }
