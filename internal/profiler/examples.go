package profiler

import (
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// So many examples come a second from each CPU, with so many bytes of the stack. However
// often an event is hit, that is 6 MB a second; the first hits of all are examples too.
const (
	exampleRate = 199
	exampleCopy = 32 << 10
)

// examples are samplings of some hits with a large copy of the stack, beside samplings of
// every hit with a small one: where the small one cuts a stack short, the whole of it is
// soon known. Each is of the sampling whose index stands at its place. Processes have none:
// another event for each of their threads is too many, and their copies grow soon. Recent
// samples have none either: they would take the place of others.
func examples(target perfevent.Target, plans []table.Plan, recent bool) (all []perfevent.Sampling, of []int) {
	if recent || target.PerSampling() == 0 {
		return nil, nil
	}
	first := 0
	for i := range plans {
		plan := &plans[i]
		for j, s := range plan.Samplings {
			if s.Period != 1 || plan.Stacks.Unwind == stack.FP || s.UserStack != plan.Stacks.Copy || s.UserStack == 0 || s.UserStack >= exampleCopy || !s.Event.IsTracepoint() {
				continue // see newGrowth; on a user probe of perf's own another event costs as much as the first
			}
			s.Period, s.Frequency, s.UserStack = 0, exampleRate, exampleCopy
			s.Raw, s.Addr, s.IntrRegs, s.Soon, s.Callchain = false, false, 0, false, perfevent.CallchainMode{}
			all, of = append(all, s), append(of, first+j)
		}
		first += len(plan.Samplings)
	}
	return all, of
}
