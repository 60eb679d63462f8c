package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/trace/count"
)

const funccountUsage = `funccount [options] {PATTERN | TARGET:PATTERN | t:SYSTEM:PATTERN} [-- COMMAND ARG...]

Count calls of kernel functions (PATTERN, MODULE:PATTERN) or user functions (TARGET is a
path, a command or a library), or hits of tracepoints. A pattern stands for one function
or several ('vfs_*').

  ringtap funccount 'vfs_*'                         kernel functions
  ringtap funccount -i 1 -d 5 'tcp_*'               five reports, one a second
  ringtap funccount -t 10 'ext4_*'                  the ten most called
  ringtap funccount -d 5 'libc:mem*'                user functions, counted in the kernel
  ringtap funccount -p 1182 ./prog:'*'              one process
  ringtap funccount 'libc:*alloc' -- ./prog         a command from beginning to end
  ringtap funccount -d 1 't:syscalls:sys_enter_*'   tracepoints
`

// countFlags are the flags of funccount.
type countFlags struct {
	targetFlags
	count.Request
	duration, interval secondsFlag
	verbose            bool
}

func countFunctions(ctx context.Context, out *console, args []string) error {
	var c countFlags
	flags := newFlags(out, "funccount", funccountUsage)
	c.targetFlags.add(flags, "L")
	c.addCgroup(flags)
	addDuration(flags, &c.duration, "; otherwise Ctrl-C or the end of the target ends the run")
	addInterval(flags, &c.interval, "")
	manual.SetGroup(flags, whenGroup)
	addLimit(flags, &c.Limit, 1000)
	addWay(flags, &c.Way, "auto", ": function (the function tracer), kprobe (probes that lose nothing), or auto", count.Ways()...)
	manual.SetGroup(flags, whatGroup)
	addTop(flags, &c.Top, "t", 0, ": functions, by calls (default: all)")
	addTimestamp(flags, &c.Times, ", with each interval")
	addVerbose(flags, &c.verbose, "")
	manual.SetGroup(flags, outputGroup)
	if err := parse(flags, args); err != nil {
		return err
	}
	rest, err := c.takeCommand(flags)
	if err != nil {
		return err
	}
	switch {
	case len(rest) == 0:
		return usagef("give the functions to count, such as 'vfs_*' or 'libc:mem*'")
	case len(rest) > 1:
		return usagef("unexpected argument %q", rest[1])
	case flags.Changed("top") && c.Top < 1:
		return usagef("-t %d: at least one function", c.Top)
	case c.Limit < 1:
		return usagef("--limit %d: at least one function", c.Limit)
	case !slices.Contains(count.Ways(), c.Way):
		return usagef("--way %s: one of %s", c.Way, strings.Join(count.Ways(), ", "))
	}
	if err := c.check(flags); err != nil {
		return err
	}
	c.sayChildren(out)
	c.Request.Target, c.Duration, c.Interval = &c.targetFlags.Target, time.Duration(c.duration), time.Duration(c.interval)
	if c.View, err = c.view(); err != nil {
		return err
	}
	c.Spec, c.Out, c.Stderr, c.Note, c.Logger = rest[0], out.stdout, out.stderr, out.note, out.logger(c.verbose)
	c.Begin = func() { out.recording.Store(true) }
	removeStale()
	return ignoreClosedPipe(wrongSpec(count.Report(ctx, c.Request)))
}
