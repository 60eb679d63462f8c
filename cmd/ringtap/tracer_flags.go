package main

import (
	"cmp"
	"time"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// targetFlags say whose events are wanted, with the letters of perf-tools.
type targetFlags struct {
	pid, tid int
	command  []string // -- COMMAND ARG...
}

// add defines the flags.
func (t *targetFlags) add(flags *pflag.FlagSet) {
	flags.IntVarP(&t.pid, "pid", "p", 0, "only this process: its threads, and the children that it has from now on")
	flags.IntVarP(&t.tid, "tid", "L", 0, "only this thread")
}

// takeCommand takes the command to run from the parsed flags, and returns the
// arguments before it.
func (t *targetFlags) takeCommand(flags *pflag.FlagSet) ([]string, error) {
	args := flags.Args()
	if dash := flags.ArgsLenAtDash(); dash >= 0 {
		args, t.command = args[:dash], args[dash:]
		if len(t.command) == 0 {
			return nil, usagef("no command after --")
		}
	}
	return args, nil
}

// check refuses what makes no sense.
func (t *targetFlags) check(flags *pflag.FlagSet) error {
	switch {
	case flags.Changed("pid") && flags.Changed("tid"):
		return usagef("-p and -L exclude each other")
	case t.command != nil && (flags.Changed("pid") || flags.Changed("tid")):
		return usagef("-p, -L and a command to run exclude each other")
	case flags.Changed("pid") && t.pid <= 0:
		return usagef("-p %d is not a process id", t.pid)
	case flags.Changed("tid") && t.tid <= 0:
		return usagef("-L %d is not a thread id", t.tid)
	}
	return refuseOwn(t.pid, t.tid)
}

// target is what is watched, and the command that was started for it, held until
// the events are armed. The caller sees to its end by leave.
func (t *targetFlags) target() (perfevent.Target, *perfevent.Command, error) {
	switch {
	case t.command != nil:
		command, err := start(t.command)
		if err != nil {
			return perfevent.Target{}, nil, err
		}
		return perfevent.Started(command), command, nil
	case t.pid != 0:
		return perfevent.Process(t.pid), nil, nil
	case t.tid != 0:
		return perfevent.Thread(t.tid), nil, nil
	}
	return perfevent.System(), nil, nil
}

// view is the process as which files are looked for.
func (t *targetFlags) view() probe.View { return viewOf(t.pid, t.tid) }

// viewOf is the view of a process or thread, if there is one.
func viewOf(pid, tid int) probe.View {
	if id := cmp.Or(pid, tid); id != 0 {
		return probe.View{PIDs: []int{id}}
	}
	return probe.View{}
}

// tracerFlags are the flags that all tracers share, with the letters of
// perf-tools.
type tracerFlags struct {
	targetFlags
	duration secondsFlag
	show     bool // the formats, and trace nothing
	headers  bool
	force    bool
	maxRate  uint64
	verbose  bool
}

// add defines the flags.
func (t *tracerFlags) add(flags *pflag.FlagSet) {
	flags.VarP(&t.duration, "duration", "d", "trace for this long and print all at its end")
	t.targetFlags.add(flags)
	flags.BoolVarP(&t.show, "view", "v", false, "print the format of the event's records and how it is placed, and trace nothing")
	flags.BoolVarP(&t.headers, "headers", "H", false, "print the columns' names first")
	flags.BoolVarP(&t.force, "force", "F", false, "as perf-tools has it; nothing needs forcing here")
	flags.Uint64Var(&t.maxRate, "max-rate", 0, "end, with exit code 1, at more than this many hits a second (default: any)")
	flags.BoolVar(&t.verbose, "verbose", false, "say on standard error what is done and why")
	_ = flags.MarkHidden("force") // the flag is there, so that it cannot fail
}

// validate takes the command to run from the parsed flags, and refuses what
// makes no sense before anything is opened. It returns the arguments before the
// command. Its errors are usageErrors.
func (t *tracerFlags) validate(flags *pflag.FlagSet) ([]string, error) {
	args, err := t.takeCommand(flags)
	if err == nil {
		err = t.check(flags)
	}
	if err == nil && t.duration > 0 && t.show {
		err = usagef("-d and -v exclude each other: -v traces nothing")
	}
	return args, err
}

// seconds is the duration as messages have it.
func (t *tracerFlags) seconds() string { return formatSeconds(time.Duration(t.duration)) }

// lineCopy is how much of the user stack comes with each event that is shown
// with its stack: enough for most, and a storm of events still fits the rings.
const lineCopy = 16 << 10

// lineStacks are the stacks that are shown below an event's line.
func lineStacks(user, kernel bool) stack.Stacks {
	return stack.Stacks{User: user, Kernel: kernel, Unwind: stack.Auto, Copy: lineCopy}
}
