package profiler

import (
	"slices"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

func TestExamplesAreOfEveryHitWithASmallCopyOfAHost(t *testing.T) {
	point := func(copied uint32) perfevent.Sampling {
		return perfevent.Sampling{Event: perfevent.Tracepoint(1, "a:b"), Period: 1, UserStack: copied, UserRegs: 1, Raw: true, Filter: "c == 1"}
	}
	clock := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: 49, UserStack: 512}
	uprobe := point(512)
	uprobe.Event = perfevent.Software(perfevent.SoftwarePageFaults)
	plan := func(unwind stack.Unwind, samplings ...perfevent.Sampling) table.Plan {
		return table.Plan{Samplings: samplings, Stacks: stack.Stacks{User: true, Unwind: unwind, Copy: 512}}
	}
	plans := []table.Plan{
		plan(stack.Auto, clock, point(512), point(0), point(2048)),
		plan(stack.FP, point(512)),
		plan(stack.DWARF, uprobe, point(512)),
	}
	all, of := examples(perfevent.System(), plans, false)
	if want := []int{1, 6}; !slices.Equal(of, want) {
		t.Fatalf("examples of %v, want %v", of, want)
	}
	for _, s := range all {
		if s.Frequency != exampleRate || s.Period != 0 || s.UserStack != exampleCopy || s.Raw || s.Filter != "c == 1" || s.UserRegs != 1 {
			t.Errorf("an example is %+v", s)
		}
	}
	for name, none := range map[string]struct {
		target perfevent.Target
		recent bool
	}{"of a process": {perfevent.Process(1), false}, "of recent samples": {perfevent.System(), true}} {
		if all, of := examples(none.target, plans, none.recent); all != nil || of != nil {
			t.Errorf("%s: %v", name, of)
		}
	}
}
