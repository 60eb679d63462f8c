package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/cli/launch"
	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/kprobe"
)

const kprobeUsage = `kprobe [options] {-l [PATTERN] | DEFINITION... [FILTER]} [-- COMMAND ARG...]

Trace a place in the kernel and print a line for each hit, as the kernel does.

  {p|r}:[NAME ][MODULE:]FUNCTION[+OFF][ ARGUMENTS]    DEFINITION

p is the entry of a function and r its return. FUNCTION may be a pattern ('vfs_*').
ARGUMENTS are the kernel's fetch arguments ($arg1, $retval, +0($arg2):string, registers).
If the kernel has type information (BTF), they may be C expressions over the function's
parameters; $args stands for all of them. FILTER is the kernel's event filter, over the
names of the arguments.

  ringtap kprobe p:do_sys_openat2                           each call, by all processes
  ringtap kprobe 'r:myopen do_sys_openat2 $retval'          what it returns
  ringtap kprobe 'p:vfs_open path->dentry->d_name.name'     which file
  ringtap kprobe 'p:vfs_read count' 'count > 65536'         large reads
  ringtap kprobe -s p:tcp_retransmit_skb                    with kernel stacks
  ringtap kprobe -l 'tcp_*'                                 what can be probed

There are four ways to trace a function: perf's own kprobe events, kprobe_events of
tracefs, perf's ftrace:function, and execution breakpoints. ringtap takes the best that the
kernel has; --verbose says which and why, and --way selects one. ringtap reports hits the
kernel missed. If a function was renamed, was compiled away or cannot be probed, the error
says why and which function to take today.
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
	flags.Lookup("force").Hidden = false
	flags.BoolVarP(&k.list, "list", "l", false, "list what can be probed: the kernel's functions that match a pattern, or all")
	addStacks(flags, &k.kernel, ": the kernel stack")
	addUser(flags, &k.user, " of each hit")
	addLimit(flags, &k.limit, 1000)
	addWay(flags, &k.way, "", ": "+strings.Join(kprobeWays(), ", ")+" (default: the best that the kernel has)", kprobeWays()...)
	manual.SetGroup(flags, whatGroup)
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
		names, notes, err := probe.KernelFunctions(cmp.Or(strings.Join(rest, ""), "*"))
		return listNames(out, names, notes, err)
	}
	texts, filter, err := definitions(rest, "p:do_sys_openat2")
	if err != nil {
		return err
	}
	return k.trace(ctx, out, texts, filter)
}

// kprobeWays returns the values of --way, in the order in which ringtap tries them.
func kprobeWays() []string {
	return []string{string(kprobe.MethodPMU), string(kprobe.MethodKprobeEvents), string(kprobe.MethodFunction), string(kprobe.MethodBreakpoint)}
}

func checkWay(way string) error {
	if way == "" || slices.Contains(kprobeWays(), way) {
		return nil
	}
	return usagef("--way %s: one of %s", way, strings.Join(kprobeWays(), ", "))
}

// trace opens the probes that the definitions describe and prints their hits.
func (k *kprobeFlags) trace(ctx context.Context, out *console, texts []string, filter string) error {
	var specs []*probe.Spec
	for _, text := range texts {
		spec, err := probe.ParseKernel(text)
		if err != nil {
			return wrongSpec(err)
		}
		specs = append(specs, spec)
	}
	target, command, err := k.open()
	if err != nil {
		return err
	}
	defer launch.Leave(command)
	way := kprobe.Method(k.way)
	if k.show {
		way = kprobe.MethodKprobeEvents // only these events have a format file
	}
	set, err := attach(out, specs, probe.Options{
		Target: target, Filter: filter, Limit: k.limit, Force: k.force, Method: way,
		PMU: true, UserStacks: k.user, Logger: out.logger(k.verbose),
	})
	if err != nil {
		return err
	}
	defer set.Release(out.stderr)
	if len(texts) == 1 {
		if note := quicker(texts[0], len(set.Functions), filter, k.user); note != "" {
			out.note(note)
		}
	}
	if k.show {
		return ignoreClosedPipe(set.WriteFormats(out.stdout))
	}
	err = printEvents(ctx, out, &k.tracerFlags, tracing{
		name: nameOf("kprobe", set), sources: set.Sources,
		stacks: stack.Lines(k.user, k.kernel), target: target, command: command,
	})
	return errors.Join(err, set.SayMissed(out.stderr))
}

// slowToArm is the number of probes from which on the user has to wait. The kernel takes
// some milliseconds to set each probe, and again to remove it.
const slowToArm = 200

// quicker returns a note that names a command which traces the same calls without the
// wait. It returns "" if there is none or if places, the number of probes, is small.
func quicker(text string, places int, filter string, user bool) string {
	d, err := kprobe.Parse(text)
	if err != nil || places < slowToArm || d.Kind != kprobe.Entry || d.Module != "" || d.Fetch != "" || filter != "" || user {
		return ""
	}
	return fmt.Sprintf("the kernel sets and removes %d probes one by one; ringtap functrace '%s' traces the same calls at once", places, d.Symbol)
}
