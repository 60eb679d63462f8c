package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/count"
	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/launch"
	"github.com/ringtap/ringtap/internal/manual"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/kprobe"
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
	duration, interval secondsFlag
	top                int
	times              bool
	limit              int
	way                string
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
	addLimit(flags, &c.limit, 1000)
	addWay(flags, &c.way, "auto", ": function (the function tracer), kprobe (probes that lose nothing), or auto", "auto", wayFunction, wayKprobe)
	manual.SetGroup(flags, whatGroup)
	addTop(flags, &c.top, "t", 0, ": functions, by calls (default: all)")
	addTimestamp(flags, &c.times, ", with each interval")
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
	case flags.Changed("top") && c.top < 1:
		return usagef("-t %d: at least one function", c.top)
	case c.limit < 1:
		return usagef("--limit %d: at least one function", c.limit)
	case !slices.Contains([]string{"auto", wayFunction, wayKprobe}, c.way):
		return usagef("--way %s: one of auto, function, kprobe", c.way)
	}
	if err := c.check(flags); err != nil {
		return err
	}
	c.sayChildren(out)
	return ignoreClosedPipe(c.count(ctx, out, rest[0]))
}

// count finds out what is to be counted and counts it.
func (c *countFlags) count(ctx context.Context, out *console, text string) error {
	kind, names := probe.CutKind(text)
	if kind == 't' {
		return c.countEvents(ctx, out, &probe.Spec{Text: text, Place: probe.Tracepoint, Probe: names}, "tracepoint")
	}
	names = strings.TrimPrefix(text, "p:")
	if strings.TrimSpace(names) == "" {
		return usagef("give the functions to count, such as 'vfs_*' or 'libc:mem*'")
	}
	view, err := c.view()
	if err != nil {
		return err
	}
	spec, err := probe.Parse("p:"+names, view)
	if err != nil {
		return wrongSpec(err)
	}
	spec.Text = names
	if spec.Place == probe.Kernel {
		spec.Text = spec.Probe
		return c.countKernel(ctx, out, spec)
	}
	return c.countEvents(ctx, out, spec, "function")
}

// greet says what is counted, in perf-tools' words.
func (c *countFlags) greet(out *console, spec, functions string) error {
	top := ""
	if c.top > 0 {
		top = fmt.Sprintf(" Top %d only.", c.top)
	}
	name := escape.Text(spec)
	if c.duration > 0 {
		_, err := fmt.Fprintf(out.stdout, "Tracing \"%s\" (%s) for %s seconds.%s..\n", name, functions, formatSeconds(time.Duration(c.duration)), top)
		return err
	}
	_, err := fmt.Fprintf(out.stdout, "Tracing \"%s\" (%s).%s.. Ctrl-C to end.\n", name, functions, top)
	return err
}

// several is a number of things.
func several(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// manyEvents is how many events take the kernel seconds to close: for each it waits
// until no CPU runs its code any more (tracepoint_synchronize_unregister), some 40 ms.
const manyEvents = 50

// countEvents counts by perf events, or where places share one by what the kernel
// counts at each.
func (c *countFlags) countEvents(ctx context.Context, out *console, spec *probe.Spec, thing string) error {
	logger := out.logger(c.verbose)
	view, err := c.view()
	if err != nil {
		return err
	}
	target, command, err := c.open()
	if err != nil {
		return err
	}
	defer launch.Leave(command)
	options := probe.Options{Target: target, View: view, Limit: c.limit, PMU: spec.Place == probe.User,
		Counts: true, Method: kprobe.MethodKprobeEvents, Logger: logger}
	if !c.Whole() && (spec.Place == probe.Kernel || c.TID != 0 || c.Cgroup != "") {
		options.Sharing = probe.ShareNone // the kernel counts everyone's hits
	}
	set, err := probe.Open(spec, options)
	if spec.Place != probe.Kernel {
		for _, note := range set.Notes {
			out.note(note)
		}
	}
	if err != nil {
		return wrongSpec(err)
	}
	defer set.Release(out.stderr)
	for _, name := range set.Functions {
		if strings.HasPrefix(name, "sched:sched_stat_") {
			fmt.Fprintf(out.stderr, "note: %s counts nanoseconds, not hits\n", name)
		}
	}
	logger.Debug("counting by events", "functions", len(set.Functions), "shared", set.Shared())
	out.recording.Store(true)
	err = count.Run(ctx, count.Options{
		Target: target, Set: set, LeaveOutOwn: spec.Place != probe.User && c.Whole(),
		Duration: time.Duration(c.duration), Interval: time.Duration(c.interval), Logger: logger,
		Armed: func() error { return c.greet(out, spec.Text, several(len(set.Functions), thing)) },
		Emit:  func(hits map[string]uint64) error { return c.print(out, hits) },
		Emitted: func() error {
			if events := len(set.Sources); events >= manyEvents {
				fmt.Fprintf(out.stderr, "note: the kernel takes a while to close %d events, one after another\n", events)
			}
			_, err := fmt.Fprint(out.stdout, "\nEnding tracing...\n")
			return err
		},
	})
	if err == nil {
		err = launch.End(ctx, out.stderr, command)
	}
	return errors.Join(err, set.SayMissed(out.stderr))
}

// print prints what was called in an interval, the most called last.
func (c *countFlags) print(out *console, called map[string]uint64) error {
	type row struct {
		name  string
		calls uint64
	}
	var rows []row
	for name, calls := range called {
		if calls > 0 {
			rows = append(rows, row{name, calls})
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		switch {
		case a.calls < b.calls:
			return -1
		case a.calls > b.calls:
			return 1
		}
		return strings.Compare(b.name, a.name)
	})
	if c.top > 0 && len(rows) > c.top {
		rows = rows[len(rows)-c.top:]
	}
	var text strings.Builder
	text.WriteByte('\n')
	if c.times {
		fmt.Fprintln(&text, time.Now().Format(time.TimeOnly))
	}
	fmt.Fprintf(&text, "%-30s %8s\n", "FUNC", "COUNT")
	for _, r := range rows {
		fmt.Fprintf(&text, "%-30s %8d\n", escape.Text(r.name), r.calls)
	}
	_, err := fmt.Fprint(out.stdout, text.String())
	return err
}

// ignoreClosedPipe drops the error of writing to a reader that has seen enough
// (head(1)): that is no failure.
func ignoreClosedPipe(err error) error {
	if errors.Is(err, unix.EPIPE) {
		return nil
	}
	return err
}
