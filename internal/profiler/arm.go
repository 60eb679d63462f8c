package profiler

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ringtap/ringtap/internal/pressure"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/internal/usage"
)

// ArmPressure makes the Trigger of a pressure: so much before each alarm, and so much
// after it, is shown. Close ends what it opens. The error is a *pressure.Error.
func ArmPressure(of pressure.Trigger, before, after time.Duration) (t *Trigger, close func() error, err error) {
	monitor, err := pressure.Open(of)
	if err != nil {
		return nil, nil, err
	}
	return &Trigger{Alarm: monitor, Name: of.String(), After: after, Before: before}, monitor.Close, nil
}

// ArmSignal makes the Trigger of a run that shows so much before its end and before each
// SIGUSR1; nil for nothing before, where the collectors record all the time.
func ArmSignal(before time.Duration) (t *Trigger, close func() error, err error) {
	if before == 0 {
		return nil, func() error { return nil }, nil
	}
	asked := make(signalAlarm, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	return &Trigger{Alarm: asked, Name: "SIGUSR1", Before: before, AtEnd: true},
		func() error { signal.Stop(asked); return nil }, nil
}

// signalAlarm is an alarm that somebody sends.
type signalAlarm chan os.Signal

// Wait returns when the signal comes.
func (a signalAlarm) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-a:
		return nil
	}
}

// Pending takes a signal that has come.
func (a signalAlarm) Pending() (bool, error) {
	select {
	case <-a:
		return true, nil
	default:
		return false, nil
	}
}

// CheckBefore refuses collectors that can't tell what was before an alarm, as *usage.Errors.
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
