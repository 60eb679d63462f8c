package profiler

import (
	"errors"

	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// open opens the collectors' events on the target, as far as the collectors can
// make do with less; notes are what the reader of the profile must know of
// that. The error is perfevent.Open's.
func open(target perfevent.Target, collectors []table.Collector, opts perfevent.Options) (session *perfevent.Session, notes []string, err error) {
	for {
		var all []perfevent.Sampling
		opts.ContextSwitch, opts.SwitchCPUs = false, []int{}
		for _, c := range collectors {
			plan := c.Plan()
			all = append(all, plan.Samplings...)
			opts.ContextSwitch = opts.ContextSwitch || plan.Switches
			if plan.Switches && (plan.SwitchCPUs == nil || opts.SwitchCPUs == nil) {
				opts.SwitchCPUs = nil
			} else if plan.Switches {
				opts.SwitchCPUs = append(opts.SwitchCPUs, plan.SwitchCPUs...)
			}
		}
		session, err = perfevent.Open(target, all, opts)
		if err == nil {
			return session, notes, nil
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
				return c.Retreat(err)
			}
		}
	}
	return "", false
}
