package profiler

import (
	"slices"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// wantsInterpreted reports whether a plan wants the calls of interpreted code.
func wantsInterpreted(plans []table.Plan) bool {
	return slices.ContainsFunc(plans, func(p table.Plan) bool { return p.Stacks.Interpreted })
}

// visitsSamples reports whether the helper process must read memory when a sample arrives. It need
// not if every plan samples threads that leave their CPU (Plan.Switched): those stand still, and
// are read later.
func visitsSamples(plans []table.Plan) bool {
	return slices.ContainsFunc(plans, func(p table.Plan) bool { return p.Stacks.Interpreted && p.Switched == nil })
}

// calls says at which samples ringtap reads the calls of interpreted code: see engine.Options. It
// returns nil with alarms: their samples are not read until the alarm.
func (r *profiling) calls() *engine.Calls {
	if r.alarms != nil || !wantsInterpreted(r.plans) {
		return nil
	}
	calls := &engine.Calls{Switched: r.switched()}
	if visitsSamples(r.plans) {
		calls.Frequency = 1
		for i := range r.plans {
			for _, s := range r.plans[i].Samplings {
				calls.Frequency = max(calls.Frequency, s.Frequency)
				if s.WakeupEvents > 0 && s.Period == 1 {
					calls.Frequency = atsample.MaxVisitRate // or less often: see atsample.WakeupThrottle
				}
			}
		}
	}
	return calls
}

// sampleReader returns the reader of interpreted calls; nil if they are not read.
func (r *profiling) sampleReader() stack.SampleReader {
	if calls := r.engine.Calls(); calls != nil {
		return calls
	}
	return nil
}

// switched returns a function that reports which samples start a wait; nil if no plan has Switched.
func (r *profiling) switched() atsample.SwitchFunc {
	first := 0
	for i := range r.plans {
		plan := &r.plans[i]
		end := first + len(plan.Samplings)
		if plan.Stacks.Interpreted && plan.Switched != nil {
			return func(s *perfevent.Sample) (leaves bool, next uint32) {
				if s.Sampling < first || s.Sampling >= end {
					return false, 0
				}
				return plan.Switched(s.Sampling-first, s)
			}
		}
		first = end
	}
	return nil
}

// interpretedNotes returns notes on how well the interpreted calls of a window are known.
func (r *profiling) interpretedNotes(w *table.Window) []string {
	calls := r.engine.Calls()
	if calls == nil {
		return nil
	}
	var c table.Counts
	for i := range w.Counts {
		c.Add(w.Counts[i])
	}
	return calls.Notes(c.CertaintyCounts)
}
