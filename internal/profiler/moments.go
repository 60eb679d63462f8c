package profiler

import (
	"fmt"
	"slices"

	"github.com/ringtap/ringtap/internal/moment"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/perfevent/near"
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
					frequency = moment.Rate // or less: see waking
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
	pids := r.source.Processes()
	if len(pids) == 0 {
		pids = r.source.Host().Running()
	}
	for _, pid := range pids {
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
func (r *profiling) momentNotes(w *table.Window) (notes []string) {
	if r.moments == nil {
		return nil
	}
	var c table.Counts
	for i := range w.Counts {
		c.Add(w.Counts[i])
	}
	if all := c.Exact + c.Near + c.Native; all > 0 {
		share := func(n uint64) float64 { return 100 * float64(n) / float64(all) }
		note := fmt.Sprintf("interpreted frames: %.1f%% exact, %.1f%% near, %.1f%% none (%d samples)", share(c.Exact), share(c.Near), share(c.Native), all)
		if c.Near > 0 {
			note += fmt.Sprintf("; near: the thread may have run on before they were read, %s stands on them", stack.Late)
		}
		if c.Native > 0 && r.switched() != nil {
			note += fmt.Sprintf("; none: most waits shorter than %v are over before they are read", moment.LookEvery)
		}
		if rung, ok := r.moments.Rung(); ok && rung != near.FIFO {
			note += fmt.Sprintf("; the reader is %s", rung)
		}
		if n := r.thinned.Load(); n > 0 && c.Native > 0 {
			note += fmt.Sprintf("; none: the hits came too fast to read the functions of all, and those of one in %d were read, or more", n)
		}
		notes = append(notes, note)
	}
	if err := r.moments.Err(); err != nil {
		notes = append(notes, fmt.Sprintf("functions of interpreted code, and callers in deep stacks, are missing: %v", err))
	}
	return notes
}
