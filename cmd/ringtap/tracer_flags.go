package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cgroup"
	"github.com/ringtap/ringtap/internal/manual"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// targetFlags say whose events are wanted, with the letters of perf-tools.
type targetFlags struct {
	processFlags
	tid     int
	command []string // -- COMMAND ARG...

	cgroup string     // of those that can watch one; after check its directory
	group  probe.View // the processes in it
}

// add defines the flags.
func (t *targetFlags) add(flags *pflag.FlagSet) {
	t.processFlags.add(flags)
	addTID(flags, &t.tid, "L")
	manual.SetGroup(flags, targetGroup)
}

// addCgroup defines the flag of the tracers that can watch a control group.
func (t *targetFlags) addCgroup(flags *pflag.FlagSet) {
	addCgroup(flags, &t.cgroup)
	manual.SetGroup(flags, targetGroup)
}

// findCgroup finds the control group that was named and the processes in it.
func (t *targetFlags) findCgroup(flags *pflag.FlagSet) error {
	switch {
	case !flags.Changed("cgroup"):
		return nil
	case t.cgroup == "":
		return usagef("-g needs a control group")
	case t.command != nil || flags.Changed("pid") || flags.Changed("tid"):
		return usagef("give only one of -p, -L, -g and a command to run")
	}
	dir, err := cgroup.Find(t.cgroup)
	if err == nil {
		t.cgroup = dir
		t.group, err = probe.InCgroup(dir)
	}
	if err != nil {
		return fmt.Errorf("-g %s: %w", t.cgroup, err)
	}
	return nil
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
		return usagef("give only one of -p and -L")
	case t.command != nil && (flags.Changed("pid") || flags.Changed("tid")):
		return usagef("give only one of -p, -L and a command to run")
	case flags.Changed("tid") && t.tid <= 0:
		return usagef("-L %d is not a thread id", t.tid)
	}
	if err := refuseOwn(0, t.tid); err != nil {
		return err
	}
	if err := t.find(flags); err != nil {
		return err
	}
	return t.findCgroup(flags)
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
	case t.pids != nil:
		return t.processFlags.target(), nil, nil
	case t.tid != 0:
		return perfevent.Thread(t.tid), nil, nil
	case t.cgroup != "":
		return perfevent.InCgroup(t.cgroup), nil, nil
	}
	return perfevent.System(), nil, nil
}

// wholeSystem tells that nothing narrows what is watched.
func (t *targetFlags) wholeSystem() bool {
	return t.command == nil && t.pids == nil && t.tid == 0 && t.cgroup == ""
}

// view is the processes as which files are looked for.
func (t *targetFlags) view() probe.View {
	if t.cgroup != "" {
		return t.group
	}
	return viewOf(t.roots, t.tid)
}

// viewOf is the view of processes or of a thread, if there are any.
func viewOf(pids []int, tid int) probe.View {
	if tid != 0 {
		return probe.View{PIDs: []int{tid}}
	}
	return probe.View{PIDs: pids}
}

// tracerFlags are the flags that all tracers share, with the letters of
// perf-tools.
type tracerFlags struct {
	targetFlags
	duration secondsFlag
	show     bool // the formats, and trace nothing
	headers  bool
	force    bool
	live     bool
	times    bool
	maxRate  uint64
	maxHits  uint64
	verbose  bool
}

// add defines the flags.
func (t *tracerFlags) add(flags *pflag.FlagSet) {
	t.targetFlags.add(flags)
	t.addCgroup(flags)
	addDuration(flags, &t.duration, " and print everything then")
	addLive(flags, &t.live)
	flags.Uint64VarP(&t.maxHits, "max-hits", "n", 0, "end after `N` hits (default: no limit)")
	flags.Uint64Var(&t.maxRate, "max-rate", 0, "end with exit code 1 at more than `N` hits a second (default: no limit)")
	manual.SetGroup(flags, whenGroup)
	flags.BoolVarP(&t.show, "view", "v", false, "print the format of the event's records and where the probe is, and trace nothing")
	addHeaders(flags, &t.headers)
	addTimestamp(flags, &t.times, ", before each line, in ISO 8601")
	addVerbose(flags, &t.verbose, "")
	manual.SetGroup(flags, outputGroup)
	addForce(flags, &t.force)
	manual.SetGroup(flags, controlGroup)
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
		err = usagef("give only one of -d and -v: -v traces nothing")
	}
	return args, err
}

// held are the lines of a run that go to w: all at the end with -d, as perf-tools has it,
// unless they are wanted at once.
func (t *tracerFlags) held(w io.Writer) held {
	lines := held{to: w}
	if t.duration > 0 && !t.live {
		lines.limit = maxHeld
	}
	return lines
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
