package main

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/manual"
)

// The options that several commands have. Each is declared here, once, so that a long
// name has one meaning everywhere. Letters are those of the tool that a command follows:
// stack_analyzer's for collectors, perf-tools' for tracers.

// The groups of options in help texts, in their order.
const (
	targetGroup  = "Target"
	whenGroup    = "When"
	whatGroup    = "What is recorded"
	outputGroup  = "Output"
	perfGroup    = "With --stdio" // options of perf report
	controlGroup = "Control"
)

func addPIDs(flags *pflag.FlagSet, named *[]string, more string) {
	flags.StringSliceVarP(named, "pid", "p", nil, "only processes `PID|NAME`"+more+" (may be repeated, or a list: 1,2)")
}

func addTree(flags *pflag.FlagSet, tree *bool) {
	flags.BoolVar(tree, "tree", false, "include the children that the named processes already have, and theirs")
}

func addTID(flags *pflag.FlagSet, tid *int, letter string) {
	flags.IntVarP(tid, "tid", letter, 0, "only thread `TID`")
}

func addCgroup(flags *pflag.FlagSet, cgroup *string, letter string) {
	flags.StringVarP(cgroup, "cgroup", letter, "", "only control group `CGROUP`: a path in a cgroup v1 or v2 hierarchy, or part of its name, such as a container's id")
}

func addDuration(flags *pflag.FlagSet, d *secondsFlag, detail string) {
	addDurationAs(flags, d, "d", detail)
}

func addDurationAs(flags *pflag.FlagSet, d *secondsFlag, letter, detail string) {
	flags.VarP(d, "duration", letter, "end after this many `SECONDS`"+detail)
}

func addInterval(flags *pflag.FlagSet, i *secondsFlag, detail string) {
	flags.VarP(i, "interval", "i", "report every `SECONDS`"+detail)
}

func addTop(flags *pflag.FlagSet, top *int, letter string, number int, detail string) {
	flags.IntVarP(top, "top", letter, number, "show only the `N` highest"+detail)
}

func addTimestamp(flags *pflag.FlagSet, times *bool, detail string) {
	flags.BoolVarP(times, "timestamp", "T", false, "print the time of day"+detail)
}

func addLive(flags *pflag.FlagSet, live *bool) {
	flags.BoolVar(live, "live", false, "with -d, print lines as they come")
}

func addUser(flags *pflag.FlagSet, user *bool, detail string) {
	flags.BoolVarP(user, "user", "u", false, "show user stacks"+detail)
}

func addKernel(flags *pflag.FlagSet, kernel *bool, detail string) {
	flags.BoolVarP(kernel, "kernel", "k", false, "show kernel stacks"+detail)
}

func addStacks(flags *pflag.FlagSet, stacks *bool, detail string) {
	flags.BoolVarP(stacks, "stacks", "s", false, "print the stack of each hit"+detail)
}

func addExact(flags *pflag.FlagSet, exact *bool) {
	flags.BoolVar(exact, "exact", false, "place user probes at exactly the addresses named, even where the kernel must single-step")
}

func addLimit(flags *pflag.FlagSet, limit *int, number int) {
	flags.IntVar(limit, "limit", number, "refuse a pattern that matches more than `N` places")
}

func addHeaders(flags *pflag.FlagSet, headers *bool) {
	flags.BoolVarP(headers, "headers", "H", false, "print column headings first")
}

func addJSON(flags *pflag.FlagSet, json *bool, detail string) {
	flags.BoolVar(json, "json", false, "print JSON"+detail)
}

func addVerbose(flags *pflag.FlagSet, verbose *bool, letter string) {
	flags.BoolVarP(verbose, "verbose", letter, false, "explain on standard error what ringtap does and why")
}

// addWay declares --way, which selects one of several ways to do the same thing.
func addWay(flags *pflag.FlagSet, way *string, value, detail string, ways ...string) {
	flags.StringVar(way, "way", value, "how to trace (`WAY`)"+detail)
	manual.SetValues(flags, "way", ways...)
}

func addForce(flags *pflag.FlagSet, force *bool) {
	flags.BoolVarP(force, "force", "F", false, "trace even if the kernel or another user of the tracer objects")
}

func addColor(flags *pflag.FlagSet, when *string) {
	flags.StringVar(when, "color", "auto", "color the report `WHEN`: auto (unless NO_COLOR is set or TERM is dumb), always, or never")
	manual.SetValues(flags, "color", "auto", "always", "never")
}

// checkColor checks the value of --color.
func checkColor(when string) error {
	if !slices.Contains([]string{"auto", "always", "never"}, when) {
		return usagef("--color %q: one of auto, always, never", when)
	}
	return nil
}
