package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/visible"
	"github.com/ringtap/ringtap/kprobe"
)

const kprobeUsage = `kprobe [flags] {-l [PATTERN] | DEFINITION [FILTER]} [-- COMMAND ARG...]

Traces a place in the kernel and prints a line for each hit, as the kernel does.
DEFINITION is {p|r}:[NAME ][MODULE:]FUNCTION[+OFF][ ARGUMENTS], p for a function's
entry and r for its return. FUNCTION may be a pattern ('vfs_*'). ARGUMENTS are the
kernel's fetch arguments ($arg1, $retval, +0($arg2):string, registers), and with
the kernel's type information C expressions over the function's parameters; $args
stands for all of them. FILTER is the kernel's event filter, over the arguments'
names.

  ringtap kprobe p:do_sys_openat2                       each call, by all processes
  ringtap kprobe 'r:myopen do_sys_openat2 $retval'      what it returns
  ringtap kprobe 'p:vfs_open path->dentry->d_name.name' which file
  ringtap kprobe 'p:vfs_read count' 'count > 65536'
  ringtap kprobe -s p:tcp_retransmit_skb                with kernel stacks
  ringtap kprobe -l 'tcp_*'                             what can be probed
`

// kprobeFlags are the flags of kprobe alone.
type kprobeFlags struct {
	tracerFlags
	list         bool
	kernel, user bool
	limit        int
	way          string
}

func traceKprobe(ctx context.Context, out *console, args []string) error {
	var k kprobeFlags
	flags := newFlags(out, "kprobe", kprobeUsage)
	k.add(flags)
	force := flags.Lookup("force")
	force.Usage, force.Hidden = "probe what the kernel's lists say can't be: the kernel has the last word", false
	flags.BoolVarP(&k.list, "list", "l", false, "list the kernel's functions that can be probed, those that match a pattern if one follows")
	flags.BoolVarP(&k.kernel, "stacks", "s", false, "print the kernel stack of each hit")
	flags.BoolVarP(&k.user, "user", "u", false, "print the user stack of each hit")
	flags.IntVar(&k.limit, "limit", 1000, "the most places that a pattern may stand for")
	flags.StringVar(&k.way, "way", "", "trace by `means`: "+strings.Join(kprobeWays(), ", ")+" (default: the best that the kernel has)")
	if err := parse(flags, args); err != nil {
		return err
	}
	rest, err := k.validate(flags)
	if err != nil {
		return err
	}
	if k.limit < 1 {
		return usagef("--limit %d: at least one place", k.limit)
	}
	if err := checkWay(k.way); err != nil {
		return err
	}
	switch {
	case k.list && len(rest) > 1:
		return usagef("unexpected argument %q: -l takes one pattern", rest[1])
	case k.list:
		return listKernelFunctions(out, strings.Join(rest, ""))
	case len(rest) == 0:
		return usagef("no definition given, such as p:do_sys_openat2")
	case len(rest) > 2:
		return usagef("unexpected argument %q: a definition and a filter, each in one pair of quotes", rest[2])
	}
	return k.trace(ctx, out, rest[0], strings.Join(rest[1:], ""))
}

// kprobeWays are the names of the ways, in the order in which they are tried.
func kprobeWays() []string {
	return []string{string(kprobe.WayPMU), string(kprobe.WayKprobeEvents), string(kprobe.WayFunction), string(kprobe.WayBreakpoint)}
}

func checkWay(way string) error {
	if way == "" || slices.Contains(kprobeWays(), way) {
		return nil
	}
	return usagef("--way %s: one of %s", way, strings.Join(kprobeWays(), ", "))
}

// trace attaches to what the definition means and follows its hits.
func (k *kprobeFlags) trace(ctx context.Context, out *console, text, filter string) error {
	spec, err := probe.ParseKernel(text)
	if err != nil {
		return wrongSpec(err)
	}
	target, command, err := k.target()
	if err != nil {
		return err
	}
	defer leave(command)
	way := kprobe.Way(k.way)
	if k.show {
		way = kprobe.WayKprobeEvents // the others have no format file
	}
	set, err := attach(out, spec, probe.Options{
		Target: target, Filter: filter, Limit: k.limit, Force: k.force, Way: way,
		PMU: true, UserStacks: k.user, Logger: out.logger(k.verbose),
	})
	if err != nil {
		return err
	}
	defer closing(out, set)
	if note := quicker(text, len(set.Functions), filter, k.user); note != "" {
		printNotes(out, []string{note})
	}
	if k.show {
		return viewFormats(out, set)
	}
	err = trace(ctx, out, &k.tracerFlags, tracing{
		name: nameOf("kprobe", set), sources: set.Sources,
		stacks: lineStacks(k.user, k.kernel), target: target, command: command,
	})
	return errors.Join(err, printMissed(out, set))
}

// slowToArm is from how many probes on one waits for the kernel: it takes some
// milliseconds for each, when it sets them and when it removes them.
const slowToArm = 200

// quicker says which command traces the same calls without waiting; "" if there is
// none, or no need.
func quicker(text string, places int, filter string, user bool) string {
	d, err := kprobe.Parse(text)
	if err != nil || places < slowToArm || d.Kind != kprobe.Entry || d.Module != "" || d.Fetch != "" || filter != "" || user {
		return ""
	}
	return fmt.Sprintf("the kernel sets and removes %d probes one by one; ringtap functrace '%s' traces the same calls at once", places, d.Symbol)
}

// listKernelFunctions prints the kernel's functions that can be probed, one a
// line; where none can it says why.
func listKernelFunctions(out *console, pattern string) error {
	names, notes, err := probe.KernelFunctions(cmp.Or(pattern, "*"))
	printNotes(out, notes)
	if err != nil {
		return wrongSpec(err)
	}
	var text strings.Builder
	for _, name := range names {
		text.WriteString(visible.Text(name) + "\n")
	}
	_, err = fmt.Fprint(out.stdout, text.String())
	return ignoreClosedPipe(err)
}
