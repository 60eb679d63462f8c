package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/report"
	"github.com/ringtap/ringtap/internal/stack"
)

// collectorFlags are the flags that all collectors share, with the letters of
// stack_analyzer.
type collectorFlags struct {
	pid, tid     int
	cgroup       string
	shell        string   // -c COMMAND
	command      []string // -- COMMAND ARG...
	user, kernel bool
	interval     secondsFlag
	duration     secondsFlag
	frequency    uint64
	top          int
	outputs      []string
	metric       string
	unwind       string
	inlines      bool
	memory       int
	verbose      bool
	trigger      triggerFlags

	below []func(io.Writer) error // what collectors write below the tables of each interval
}

// maxMemory is the most MiB whose bytes an int counts.
const maxMemory = math.MaxInt >> 20

// add defines the flags, with their defaults.
func (c *collectorFlags) add(flags *pflag.FlagSet) {
	c.interval = secondsFlag(5 * time.Second)
	flags.IntVarP(&c.pid, "pid", "p", 0, "only this process: its threads, and the children that it has from now on")
	flags.IntVarP(&c.tid, "tid", "t", 0, "only this thread")
	flags.StringVarP(&c.cgroup, "cgroup", "g", "", "only this control group: a `path` in a cgroup v1 or v2 hierarchy, or a part of its name, such as a container's id")
	flags.StringVarP(&c.shell, "command", "c", "", "run this command line by /bin/sh and end with it (or: -- COMMAND ARG...)")
	flags.BoolVarP(&c.user, "user", "u", false, "user stacks only (both when neither -u nor -k is given)")
	flags.BoolVarP(&c.kernel, "kernel", "k", false, "kernel stacks only")
	flags.Uint64VarP(&c.frequency, "frequency", "f", 49, "samples per second and CPU, in `HZ`, of what is sampled by time (on-cpu); all else is seen at every event")
	flags.VarP(&c.interval, "interval", "i", "print the tables this often")
	flags.VarP(&c.duration, "duration", "d", "end after this long (else by Ctrl-C, or with the target)")
	c.trigger.add(flags)
	flags.IntVarP(&c.top, "top", "o", 10, "rows of a table: those with the highest values")
	flags.StringArrayVar(&c.outputs, "out", nil, "write the whole run to this `file`, in the form that its ending names: "+strings.Join(report.Forms(), " ")+"; may be repeated")
	flags.StringVar(&c.metric, "metric", "", "the `column` that tables are ordered by and files with a single value show (default: the first)")
	flags.StringVar(&c.unwind, "unwind", "auto", "how user stacks are found: fp (frame pointers), dwarf (.eh_frame on a copy of the stack), auto")
	flags.BoolVar(&c.inlines, "inlines", false, "show inlined functions, and source lines in the forms that have them")
	flags.IntVar(&c.memory, "max-memory", 256, "bound in `MiB` of the memory for distinct stacks and what collectors hold; past it what is new is counted together. Records that wait, symbols and output take up to 256 MiB more")
	flags.BoolVarP(&c.verbose, "verbose", "v", false, "say on standard error what is done and why")
}

// minInterval is the shortest interval: a table takes some time to write.
const minInterval = 10 * time.Millisecond

// maxFrequency keeps the time of one sample above a nanosecond; the kernel's
// own limit (kernel.perf_event_max_sample_rate) is lower.
const maxFrequency = uint64(time.Second)

// validate refuses what makes no sense before anything is opened, as usageErrors, and
// files that can't be written: nobody wants to hear of those after an hour.
func (c *collectorFlags) validate(flags *pflag.FlagSet) error {
	if flags.Changed("command") {
		if flags.ArgsLenAtDash() >= 0 {
			return usagef("-c and -- both name a command to run: give one")
		}
		c.command = []string{"/bin/sh", "-c", c.shell}
	}
	targets := 0
	for _, name := range []string{"pid", "tid", "cgroup"} {
		if flags.Changed(name) {
			targets++
		}
	}
	if c.command != nil {
		targets++
	}
	switch {
	case flags.ArgsLenAtDash() >= 0 && len(c.command) == 0:
		return usagef("no command after --")
	case targets > 1:
		return usagef("-p, -t, -g and a command to run exclude each other")
	case flags.Changed("pid") && c.pid <= 0:
		return usagef("-p %d is not a process id", c.pid)
	case flags.Changed("tid") && c.tid <= 0:
		return usagef("-t %d is not a thread id", c.tid)
	case c.frequency < 1 || c.frequency > maxFrequency:
		return usagef("-f %d: from 1 to kernel.perf_event_max_sample_rate; it is on-cpu's, all else is seen at every event", c.frequency)
	case time.Duration(c.interval) < minInterval:
		return usagef("-i %s: at least %s seconds", &c.interval, formatSeconds(minInterval))
	case c.top < 1:
		return usagef("-o %d: at least one row", c.top)
	case c.memory < 1 || c.memory > maxMemory:
		return usagef("--max-memory %d: from 1 MiB to %d", c.memory, maxMemory)
	case !slices.Contains(stack.Unwinds(), stack.Unwind(c.unwind)):
		return usagef("--unwind %q: one of auto, fp, dwarf", c.unwind)
	}
	if err := refuseOwn(c.pid, c.tid); err != nil {
		return err
	}
	if err := c.trigger.validate(flags); err != nil {
		return err
	}
	for _, path := range c.outputs {
		var form *report.FormError
		err := report.CheckPath(path)
		if errors.As(err, &form) {
			return usagef("--out: %w", err)
		}
		if err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	return nil
}
