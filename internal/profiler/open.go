package profiler

import (
	"errors"

	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/perfevent"
)

// open opens the collector's events on the target. Where the machine shows no
// hardware counters it falls back to the clock, where the caller may not look
// into the kernel to user mode, and changes the collector to that; notes are
// what the reader of the profile must know of it. The error is perfevent.Open's.
func open(target perfevent.Target, c *collect.OnCPU, opts perfevent.Options) (session *perfevent.Session, notes []string, err error) {
	for {
		session, err = perfevent.Open(target, c.Samplings(), opts)
		switch {
		case errors.Is(err, perfevent.ErrNoEvent) && c.Event != perfevent.CPUClock():
			opts.Logger.Info("no hardware cycles, sampling the clock", "error", err)
			c.Event = perfevent.CPUClock()
		case errors.Is(err, perfevent.ErrKernelExcluded) && !c.UserOnly:
			opts.Logger.Info("no kernel samples", "error", err)
			c.UserOnly = true
			notes = append(notes, "the kernel's part is missing: "+hint(err))
		default:
			return session, notes, err
		}
	}
}

// hint is what an error of opening says about its cure.
func hint(err error) string {
	var open *perfevent.OpenError
	if errors.As(err, &open) && open.Hint != "" {
		return open.Hint
	}
	return err.Error()
}
