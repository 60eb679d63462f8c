package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/engine/pressure"
)

// triggerFlags are the flags that limit recording to certain times.
type triggerFlags struct {
	text   string
	before secondsFlag

	trigger pressure.Trigger // parsed from text
}

func (f *triggerFlags) add(flags *pflag.FlagSet) {
	flags.StringVarP(&f.text, "trigger", "T", "", "record one interval each time a PSI threshold is crossed: `TRIGGER` is "+pressure.Form+
		" (with -g the control group's own pressure; cpu@DIR is that of another group)")
	flags.Var(&f.before, "before", "with -T, also report the `SECONDS` before each alarm, as far as the rings reach; without -T, report only those before the end and before each SIGUSR1")
}

// maxBefore is the longest --before. Rings reach some seconds or minutes back.
const maxBefore = time.Hour

// validate checks the flags and parses the trigger. Its errors are *usage.Errors.
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

// arm opens the run's trigger. If -T names no control group, the trigger watches the
// pressure of cgroup, or of the whole host if cgroup is "". close releases the trigger.
func (f *triggerFlags) arm(cgroup string, interval time.Duration) (t *profiler.Trigger, close func() error, err error) {
	if f.text == "" {
		return profiler.ArmSignal(time.Duration(f.before))
	}
	f.trigger = f.trigger.Within(cgroup)
	return profiler.ArmPressure(f.trigger, time.Duration(f.before), interval)
}

// said prints on standard error that a run recorded nothing because the trigger never fired.
func (f *triggerFlags) said(out *console, result *profiler.Result) error {
	if f.text == "" || result.Alarms > 0 {
		return nil
	}
	_, err := fmt.Fprintf(out.stderr, "%s did not alarm: nothing was recorded\n", f.trigger)
	return err
}
