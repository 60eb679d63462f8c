package profiler

import (
	"errors"
	"time"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/perfevent"
)

// open opens the collectors' events on the target, with as many Fallbacks as that takes. notes are
// what the reader of the profile must know about the fallbacks. Context switches are recorded if a
// collector wants them, as opts.Switches says. The error is perfevent.Open's.
func open(target perfevent.Target, collectors []table.Collector, opts perfevent.Options) (source *engine.Live, notes []string, err error) {
	sampled := opts.Switches != nil && opts.Switches.Sampled
	for {
		var all []perfevent.Sampling
		var plans []table.Plan
		opts.Switches = nil
		switches := &perfevent.Switches{CPUs: []int{}, Sampled: sampled}
		for _, c := range collectors {
			plan := c.Plan()
			if plan.Stacks.Interpreted && sampled { // nobody reads interpreted calls: see calls
				for i := range plan.Samplings {
					plan.Samplings[i].WakeupEvents = 0
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
		opts.SharedRings, opts.MaxDelay = visitsSamples(plans) && !sampled, 0
		if wantsInterpreted(plans) && !sampled {
			opts.MaxDelay = 20 * time.Millisecond // until ringtap knows whether there is an interpreter
		}
		some, _ := examples(target, plans, opts.Recent)
		source, err = engine.Open(target, append(all, some...), opts)
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

// retreat calls Fallback on the collector whose event could not be opened.
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
