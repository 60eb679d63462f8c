package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/launch"
	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/cli/target"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// targetFlags are the flags that select what is watched.
type targetFlags struct {
	target.Target
	named  []string // by -p
	letter string   // of --tid
}

// add defines the flags. letter is the short form of --tid, in which the tools differ.
func (t *targetFlags) add(flags *pflag.FlagSet, letter string) {
	t.letter = letter
	addPIDs(flags, &t.named, ": their threads, and the children that they start from now on")
	addTree(flags, &t.Tree)
	addTID(flags, &t.TID, letter)
	manual.SetGroup(flags, targetGroup)
}

// addCgroup defines --cgroup, for ringtap's commands that can watch a control group. These can
// also start a command.
func (t *targetFlags) addCgroup(flags *pflag.FlagSet) {
	addCgroup(flags, &t.Cgroup, "g")
	manual.SetGroup(flags, targetGroup)
}

// takeCommand takes the command to run from the parsed flags, and returns the
// arguments before it.
func (t *targetFlags) takeCommand(flags *pflag.FlagSet) ([]string, error) {
	args := flags.Args()
	if dash := flags.ArgsLenAtDash(); dash >= 0 {
		args, t.Command = args[:dash], args[dash:]
		if len(t.Command) == 0 {
			return nil, usagef("no command after --")
		}
	}
	return args, nil
}

// check validates the flags, and looks up the processes and the control group that they name.
func (t *targetFlags) check(flags *pflag.FlagSet) error {
	given := 0
	for _, name := range []string{"pid", "tid", "cgroup"} {
		if flags.Changed(name) {
			given++
		}
	}
	if t.Command != nil {
		given++
	}
	switch {
	case given > 1 && flags.Lookup("cgroup") == nil:
		return usagef("give only one of -p and -%s", t.letter)
	case given > 1:
		return usagef("give only one of -p, -%s, -%s and a command to run", t.letter, flags.Lookup("cgroup").Shorthand)
	case flags.Changed("tid") && t.TID <= 0:
		return usagef("-%s %d is not a thread id", t.letter, t.TID)
	case t.Tree && !flags.Changed("pid"):
		return usagef("--tree goes with -p: without a process all are watched")
	case flags.Changed("pid") && len(t.named) == 0:
		return usagef("-p names no process")
	}
	return t.Find(process.Host{}, t.named)
}

// open returns the target to watch. It starts the command, if there is one, and returns it
// held until the events are armed. The caller ends it with launch.Leave.
func (t *targetFlags) open() (perfevent.Target, *perfevent.Command, error) {
	return launch.Open(&t.Target)
}

// view returns the processes in whose file systems probe targets are looked up.
func (t *targetFlags) view() (probe.View, error) {
	view, err := probe.ViewOf(t.Roots, t.TID, t.Cgroup)
	if err != nil {
		return view, fmt.Errorf("-g %s: %w", t.Cgroup, err)
	}
	return view, nil
}

// sayChildren prints a note if existing children of the processes are not watched.
func (t *targetFlags) sayChildren(out *console) {
	if note := t.Note(process.Host{}); note != "" {
		fmt.Fprintln(out.stderr, "note:", note)
	}
}
