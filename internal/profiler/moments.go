package profiler

import (
	"slices"

	"github.com/ringtap/ringtap/internal/moment"
	"github.com/ringtap/ringtap/internal/run"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// wantsMoments tells whether a plan asks for the calls of interpreted code.
func wantsMoments(plans []table.Plan) bool {
	return slices.ContainsFunc(plans, func(p table.Plan) bool { return p.Stacks.Moments })
}

// visitsMoments tells whether a helper visits the samples: those of threads that wait are read
// at leisure.
func visitsMoments(plans []table.Plan) bool {
	return slices.ContainsFunc(plans, func(p table.Plan) bool { return p.Stacks.Moments && p.Switched == nil })
}

// startMoments makes what knows the calls of interpreted code at the moments of samples. A
// recording has none, and samples of which only those around an alarm are read.
func (r *profiling) startMoments() stack.Moments {
	if r.live == nil || r.alarms != nil || !wantsMoments(r.plans) {
		return nil
	}
	frequency := uint64(0)
	if visitsMoments(r.plans) {
		frequency = 1
		for i := range r.plans {
			for _, s := range r.plans[i].Samplings {
				frequency = max(frequency, s.Frequency)
				if s.Soon && s.Period == 1 {
					frequency = moment.Rate // or less: see moment.Pace
				}
			}
		}
	}
	r.moments = moment.New(r.live.Session, frequency, r.switched(), r.opts.Logger)
	return r.moments
}

// switched tells of the samples that begin a wait; nil if there are none.
func (r *profiling) switched() moment.Switched {
	first := 0
	for i := range r.plans {
		plan := &r.plans[i]
		end := first + len(plan.Samplings)
		if plan.Stacks.Moments && plan.Switched != nil {
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

// prepareMoments has the calls of the processes known that are watched, and of those that run
// now. Of others they are from about their first samples on.
func (r *profiling) prepareMoments() {
	if r.moments == nil {
		return
	}
	for _, pid := range run.Watched(r.source) {
		r.recorder.Prepare(pid)
	}
	r.moments.Wait()
}

func (r *profiling) closeMoments() {
	if r.moments == nil {
		return
	}
	if err := r.moments.Close(); err != nil {
		r.opts.Logger.Warn("the reader of interpreted functions did not end well", "error", err)
	}
}

// momentNotes says how the calls of interpreted code of a window are known.
func (r *profiling) momentNotes(w *table.Window) []string {
	if r.moments == nil {
		return nil
	}
	var c table.Counts
	for i := range w.Counts {
		c.Add(w.Counts[i])
	}
	return r.moments.Notes(c.Tally)
}
