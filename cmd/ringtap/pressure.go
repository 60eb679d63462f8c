package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/pressure"
	"github.com/ringtap/ringtap/internal/profiler"
	"github.com/ringtap/ringtap/internal/table"
)

// triggerFlags say when collectors record, where that is not all the time.
type triggerFlags struct {
	text   string
	before secondsFlag

	trigger pressure.Trigger // of text
}

func (f *triggerFlags) add(flags *pflag.FlagSet) {
	flags.StringVarP(&f.text, "trigger", "T", "", "record one interval each time a PSI threshold is crossed: `TRIGGER` is "+pressure.Form+
		" (with -g the control group's own pressure; cpu@DIR is that of another group)")
	flags.Var(&f.before, "before", "with -T, also report the `SECONDS` before each alarm, as far as the rings reach; without -T, report only those before the end and before each SIGUSR1")
}

// maxBefore is the longest --before. Rings reach some seconds or minutes back.
const maxBefore = time.Hour

// validate refuses what makes no sense, as usageErrors.
func (f *triggerFlags) validate(flags *pflag.FlagSet) error {
	if time.Duration(f.before) > maxBefore {
		return usagef("--before %s: at most %s seconds", &f.before, formatSeconds(maxBefore))
	}
	if !flags.Changed("trigger") {
		if f.before > 0 && flags.Changed("interval") {
			return usagef("--before without -T gives one report, of the time before the end: -i is the time after an alarm of -T")
		}
		return nil
	}
	var err error
	if f.trigger, err = pressure.Parse(f.text); err != nil {
		return usagef("-T: %w", err)
	}
	return nil
}

// suits refuses collectors that can't tell what was before an alarm, as a
// usageError.
func (f *triggerFlags) suits(collectors []table.Collector) error {
	if f.before == 0 {
		return nil
	}
	for _, c := range collectors {
		plan := c.Plan()
		if plan.Standing {
			return usagef("%s depends on everything since the start, so that it cannot report the last seconds before an alarm (--before)", plan.Name)
		}
		if _, ok := c.(table.Metered); ok {
			return usagef("%s scales by how long its counters had the hardware, which is unknown for the last seconds before an alarm (--before)", plan.Name)
		}
	}
	return nil
}

// arm makes the run's trigger, by the pressure of the control group that is watched
// unless another was named; nil where the collectors record all the time. What it
// opens close ends.
func (f *triggerFlags) arm(cgroup string, interval time.Duration) (t *profiler.Trigger, close func() error, err error) {
	switch {
	case f.text != "":
		f.trigger = f.trigger.Within(cgroup)
		monitor, err := pressure.Open(f.trigger)
		if err != nil {
			return nil, nil, err
		}
		return &profiler.Trigger{Alarm: monitor, Name: f.trigger.String(), After: interval, Before: time.Duration(f.before)}, monitor.Close, nil
	case f.before > 0:
		asked := make(signalAlarm, 1)
		signal.Notify(asked, syscall.SIGUSR1)
		return &profiler.Trigger{Alarm: asked, Name: "SIGUSR1", Before: time.Duration(f.before), AtEnd: true},
			func() error { signal.Stop(asked); return nil }, nil
	}
	return nil, func() error { return nil }, nil
}

// said tells of a run that has recorded nothing, on standard error.
func (f *triggerFlags) said(out *console, result *profiler.Result) error {
	if f.text == "" || result.Alarms > 0 {
		return nil
	}
	_, err := fmt.Fprintf(out.stderr, "%s did not alarm: nothing was recorded\n", f.trigger)
	return err
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
