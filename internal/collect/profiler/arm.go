package profiler

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ringtap/ringtap/internal/cli/usage"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/engine/pressure"
)

// ArmPressure opens a pressure trigger. The Trigger makes a run report the time around each alarm:
// before earlier to after later. close closes what was opened. The error is a *pressure.Error.
func ArmPressure(trigger pressure.Trigger, before, after time.Duration) (t *Trigger, close func() error, err error) {
	monitor, err := pressure.Open(trigger)
	if err != nil {
		return nil, nil, err
	}
	return &Trigger{Alarm: monitor, Name: trigger.String(), After: after, Before: before}, monitor.Close, nil
}

// ArmSignal returns the Trigger of a run that reports the last time span of length before, at each
// SIGUSR1 and at its end. If before is 0, it returns nil: the collectors record all the time.
func ArmSignal(before time.Duration) (t *Trigger, close func() error, err error) {
	if before == 0 {
		return nil, func() error { return nil }, nil
	}
	asked := make(signalAlarm, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	return &Trigger{Alarm: asked, Name: "SIGUSR1", Before: before, AtEnd: true},
		func() error { signal.Stop(asked); return nil }, nil
}

// signalAlarm is an Alarm that somebody raises with a signal.
type signalAlarm chan os.Signal

// Wait returns when the signal arrives.
func (a signalAlarm) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-a:
		return nil
	}
}

// Pending reports whether a signal has arrived, and consumes it.
func (a signalAlarm) Pending() (bool, error) {
	select {
	case <-a:
		return true, nil
	default:
		return false, nil
	}
}

// CheckBefore returns a *usage.Error if a collector cannot report the time before an alarm.
func CheckBefore(collectors []table.Collector) error {
	for _, c := range collectors {
		plan := c.Plan()
		if plan.Standing {
			return usage.Errorf("%s depends on everything since the start, so that it cannot report the last seconds before an alarm (--before)", plan.Name)
		}
		if _, ok := c.(table.Metered); ok {
			return usage.Errorf("%s scales by how long its counters had the hardware, which is unknown for the last seconds before an alarm (--before)", plan.Name)
		}
	}
	return nil
}
