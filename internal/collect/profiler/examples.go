package profiler

import (
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Each CPU takes exampleRate examples a second, with exampleCopy bytes of stack. That is at most 6
// MB a second, however often an event is hit. The first hits of a run are examples too.
const (
	exampleRate = 199
	exampleCopy = 32 << 10
)

// examples returns additional samplings, which take a large copy of the stack at some hits. If the
// small copy at each hit cuts a stack short, an example soon has the whole stack. indexes has, for
// each of them, the index of the sampling it belongs to. There are no examples if the target is
// processes: that would be one more event per thread, and their copies grow soon anyway. There are
// none for recent samples either: large copies would displace other samples.
func examples(target perfevent.Target, plans []table.Plan, recent bool) (all []perfevent.Sampling, indexes []int) {
	if recent || target.PerSampling() == 0 {
		return nil, nil
	}
	first := 0
	for i := range plans {
		plan := &plans[i]
		for j, s := range plan.Samplings {
			if s.Period != 1 || plan.Stacks.Unwind == stack.FP || s.UserStack != plan.Stacks.Copy || s.UserStack == 0 || s.UserStack >= exampleCopy || !s.Event.IsTracepoint() {
				continue // see stack.NewGrowth; on perf's own user probes a second event costs as much as the first
			}
			s.Period, s.Frequency, s.UserStack = 0, exampleRate, exampleCopy
			s.Raw, s.Addr, s.IntrRegs, s.WakeupEvents, s.Callchain = false, false, 0, 0, perfevent.CallchainMode{}
			all, indexes = append(all, s), append(indexes, first+j)
		}
		first += len(plan.Samplings)
	}
	return all, indexes
}
