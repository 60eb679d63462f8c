package main

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/stack"
)

// collectorFlags are the flags that all collectors share, with the letters of
// stack_analyzer.
type collectorFlags struct {
	targetFlags
	reportFlags
	shell     string // -c COMMAND
	interval  secondsFlag
	duration  secondsFlag
	frequency uint64
	unwind    string
	jvm       bool
	trigger   triggerFlags
}

// add defines the flags, with their defaults.
func (c *collectorFlags) add(flags *pflag.FlagSet) {
	c.interval = secondsFlag(5 * time.Second)
	c.targetFlags.add(flags, "t")
	addCgroup(flags, &c.Cgroup, "g")
	flags.StringVarP(&c.shell, "command", "c", "", "run `LINE` with /bin/sh and end when it ends; -- COMMAND ARG... runs a command without a shell")
	flags.BoolP("all-cpus", "a", false, "sample all CPUs, as perf's option; this is the default without a target")
	manual.SetGroup(flags, targetGroup)
	addDuration(flags, &c.duration, "; otherwise Ctrl-C or the end of the target ends the run")
	addInterval(flags, &c.interval, "; with -d or a command and without -i, report once at the end")
	c.trigger.add(flags)
	manual.SetGroup(flags, whenGroup)
	flags.Uint64VarP(&c.frequency, "frequency", "f", 0, "take `HZ` samples a second on each CPU (default: 199 for -p, -t and a command, 49 for the host and -g; on-cpu only: the other collectors see every event)")
	c.addStacks(flags)
	flags.StringVar(&c.unwind, "unwind", "auto", "unwind user stacks by `METHOD`: fp (frame pointers), dwarf (.eh_frame on a copy of the stack), or auto")
	manual.SetValues(flags, "unwind", "auto", "fp", "dwarf")
	flags.BoolVar(&c.jvm, "jvm", false, "at the end of each interval, ask Java virtual machines (JDK 17 and later) for the names of their code")
	flags.IntVar(&c.memory, "max-memory", 256, "use at most this many `MIB` for distinct stacks and for what collectors hold, and as many to unpack the symbols of one file (.gnu_debugdata); beyond that, new stacks are merged and the symbols left out; waiting records, symbols and output take up to 256 MiB more")
	manual.SetGroup(flags, whatGroup)
	c.addOutput(flags, "; the default of stack_analyzer's spellings (on_cpu, off_cpu, llc_stat)")
}

// The default sampling frequencies, in samples a second on each CPU. One process has few
// samples, so it can have them more often.
const (
	hostFrequency    = 49
	processFrequency = 199
)

// setFrequency sets the default frequency if the command line has none. maxRate is the text of
// kernel.perf_event_max_sample_rate, above which the kernel refuses to sample; "" if unknown.
func (c *collectorFlags) setFrequency(flags *pflag.FlagSet, maxRate string) {
	switch {
	case flags.Changed("frequency"):
		return
	case flags.Changed("pid") || flags.Changed("tid") || c.Command != nil:
		c.frequency = processFrequency
	default:
		c.frequency = hostFrequency
	}
	if limit, err := strconv.ParseUint(strings.TrimSpace(maxRate), 10, 64); err == nil && limit > 0 {
		c.frequency = min(c.frequency, limit)
	}
}

// once makes a run whose length is known report once, at its end, unless an interval
// was asked for. With a trigger the interval is the time after an alarm.
func (c *collectorFlags) once(flags *pflag.FlagSet) {
	if !flags.Changed("interval") && c.trigger.text == "" && (c.duration > 0 || c.Command != nil) {
		c.interval = 0
	}
}

// takeCommand takes the command to run, after -- or by -c, from the parsed flags, and
// returns the arguments before it.
func (c *collectorFlags) takeCommand(flags *pflag.FlagSet) ([]string, error) {
	if !flags.Changed("command") {
		return c.targetFlags.takeCommand(flags)
	}
	if flags.ArgsLenAtDash() >= 0 {
		return nil, usagef("give a command to run with -c or after --, not both")
	}
	c.Command = []string{"/bin/sh", "-c", c.shell}
	return flags.Args(), nil
}

// minInterval is the shortest interval: a table takes some time to write.
const minInterval = 10 * time.Millisecond

// maxFrequency is the highest --frequency in Hz, one sample per nanosecond. The
// kernel's own limit (kernel.perf_event_max_sample_rate) is lower.
const maxFrequency = uint64(time.Second)

// validate checks the flags before anything is opened: see reportFlags.validate.
func (c *collectorFlags) validate(flags *pflag.FlagSet) error {
	switch {
	case c.frequency < 1 || c.frequency > maxFrequency:
		return usagef("-f %d: want 1 to kernel.perf_event_max_sample_rate; only on-cpu samples, the other collectors see every event", c.frequency)
	case time.Duration(c.interval) < minInterval:
		return usagef("-i %s: at least %s seconds", &c.interval, formatSeconds(minInterval))
	case !slices.Contains(stack.Unwinds(), stack.Unwind(c.unwind)):
		return usagef("--unwind %q: one of auto, fp, dwarf", c.unwind)
	}
	if err := c.trigger.validate(flags); err != nil {
		return err
	}
	if err := c.check(flags); err != nil {
		return err
	}
	return c.reportFlags.validate(flags)
}
