package profiler

import (
	"errors"
	"time"

	"github.com/ringtap/ringtap/internal/moment"
	"github.com/ringtap/ringtap/internal/run"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// open opens the collectors' events on the target, as far as the collectors can
// make do with less; notes are what the reader of the profile must know of
// that. Context switches are recorded as opts say if a collector wants them. The error
// is perfevent.Open's.
func open(target perfevent.Target, collectors []table.Collector, opts perfevent.Options) (source *run.Live, notes []string, err error) {
	sampled := opts.Switches != nil && opts.Switches.Sampled
	for {
		var all []perfevent.Sampling
		var plans []table.Plan
		opts.Switches = nil
		switches := &perfevent.Switches{CPUs: []int{}, Sampled: sampled}
		for _, c := range collectors {
			plan := c.Plan()
			if plan.Stacks.Moments && sampled { // nobody reads them: see startMoments
				for i := range plan.Samplings {
					plan.Samplings[i].Soon = false
				}
			}
			all, plans = append(all, plan.Samplings...), append(plans, plan)
			switch {
			case !plan.Switches:
				continue
			case plan.SwitchCPUs == nil || switches.CPUs == nil:
				switches.CPUs = nil
			default:
				switches.CPUs = append(switches.CPUs, plan.SwitchCPUs...)
			}
			opts.Switches = switches
		}
		opts.Shared, opts.Within = visitsMoments(plans) && !sampled, 0
		if wantsMoments(plans) && !sampled {
			opts.Within = 20 * time.Millisecond // until an interpreter is known
		}
		some, _ := examples(target, plans, opts.Recent)
		if opts.Shared {
			some = append(some, moment.Dither(all)...)
		}
		source, err = run.Open(target, append(all, some...), opts)
		if err == nil {
			return source, notes, nil
		}
		note, ok := retreat(collectors, err)
		if !ok {
			return nil, notes, err
		}
		opts.Logger.Info("making do with less", "error", err)
		if note != "" {
			notes = append(notes, note)
		}
	}
}

// retreat has the collector retreat whose event could not be opened.
func retreat(collectors []table.Collector, err error) (note string, ok bool) {
	var refused *perfevent.OpenError
	if !errors.As(err, &refused) {
		return "", false
	}
	for _, c := range collectors {
		for _, s := range c.Plan().Samplings {
			if s.Event.String() == refused.Event {
				return c.Fallback(err)
			}
		}
	}
	return "", false
}
