package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/cli/launch"
	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/readmem/syscalltext"
	"github.com/ringtap/ringtap/internal/stack"
)

const tpointUsage = `tpoint [options] {-l [PATTERN] | SYSTEM:EVENT[,SYSTEM:EVENT...] [FILTER]} [-- COMMAND ARG...]

Trace a kernel tracepoint and print a line for each hit, as the kernel does. EVENT may be
a pattern. FILTER is the kernel's event filter, over the fields that -v shows.

  ringtap tpoint -l '*open*'                                what can be traced
  ringtap tpoint syscalls:sys_enter_openat                  which files are opened
  ringtap tpoint -s block:block_rq_issue                    disk requests with kernel stacks
  ringtap tpoint 'sched:sched_process_*' 'pid > 1000'       a pattern and a filter
  ringtap tpoint sched:sched_wakeup,sched:sched_switch      two tracepoints in one run
  ringtap tpoint syscalls:sys_enter_openat 'filename ~ "/etc/*" && flags & 1'

ringtap shows file names and other texts behind the pointers of system calls. --text selects
how: from the kernel's own tracepoint (Linux 6.19), by a kprobe in its place, near (from the
process's memory while the calling thread stands still), from memory some time later, or not
at all. ~"TEXT" was read a moment after the call, so that it may differ from what the call was
given; so are all texts while calls come too fast for near. FILTER compares texts by ==, !=,
~ (a pattern) and !~, however they are read.

With -u, functions of Python 3.6 to 3.15, PHP, Ruby and Perl have their names, as in probe: of
1,250 hits a second at most, and a note says of how many. Those of Java and Node.js always have.
At events of the scheduler, of interrupts and in raw_syscalls, and with --text memory, there are
none of Python, PHP, Ruby and Perl.
`

func traceTracepoint(ctx context.Context, out *console, args []string) (err error) {
	var t tracerFlags
	flags := newFlags(out, "tpoint", tpointUsage)
	t.add(flags)
	var list, kernel, user bool
	flags.BoolVarP(&list, "list", "l", false, "list what can be probed: the tracepoints that match a pattern, or all")
	addStacks(flags, &kernel, ": the kernel stack")
	addUser(flags, &user, " of each hit")
	text := flags.String("text", "auto", "read texts behind pointers from `SOURCE`: tracepoint, kprobe, near, memory, none, or auto, the best there is")
	manual.SetValues(flags, "text", "auto", "tracepoint", "kprobe", "near", "memory", "none")
	manual.SetGroup(flags, whatGroup)
	if err := parse(flags, args); err != nil {
		return err
	}
	rest, err := t.validate(flags)
	if err != nil {
		return err
	}
	way, err := textWay(*text)
	if err != nil {
		return err
	}
	switch {
	case list && len(rest) > 1:
		return usagef("unexpected argument %q: -l takes one pattern", rest[1])
	case list:
		names, err := probe.Tracepoints(strings.Join(rest, ""))
		return listNames(out, names, nil, err)
	case len(rest) == 0:
		return usagef("give a tracepoint, such as sched:sched_switch")
	case len(rest) > 2:
		return usagef("unexpected argument %q: a tracepoint and a filter, each in one pair of quotes", rest[2])
	}
	var specs []*probe.Spec
	for name := range strings.SplitSeq(rest[0], ",") {
		specs = append(specs, &probe.Spec{Place: probe.Tracepoint, Probe: name})
	}
	filter := strings.Join(rest[1:], "")
	set, err := attach(out, specs, probe.Options{Filter: filter})
	if err != nil {
		return err
	}
	defer set.Release(out.stderr)
	if t.show {
		return ignoreClosedPipe(set.WriteFormats(out.stdout))
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	how := syscalltext.Options{Tracefs: tracefs, Method: way, Near: true, Filter: filter, Logger: out.logger(t.verbose)}
	texts, err := syscalltext.Attach(set.Sources, how)
	if err != nil {
		return wrongSpec(err)
	}
	defer func() { err = errors.Join(err, texts.Close()) }()
	if texts.Seen() != nil {
		neverPause()
	}
	target, command, err := t.open()
	if err != nil {
		return err
	}
	defer launch.Leave(command)
	if err := texts.Start(target); err != nil {
		return err
	}
	isUrgent := texts.Seen() != nil
	if user && texts.AtMoments() {
		isUrgent = false // an urgent run has no interpreted functions in its stacks
	}
	stacks := stack.Lines(user, kernel)
	stacks.Interpreted = !probe.Recur(set.Sources)
	stacks.Beyond = stacks.Interpreted
	err = printEvents(ctx, out, &t, tracing{
		name: rest[0], sources: texts.Sources, seen: texts.Seen(), urgent: isUrgent, aside: texts.ExtraEvents, helper: texts.Helper(), stacks: stacks, target: target, command: command,
	})
	sayTexts(out.stderr, texts)
	return wrongSpec(set.ExplainFilter(err))
}

// sayTexts prints how many texts could not be read, and since when some were not read exactly.
func sayTexts(w io.Writer, texts *syscalltext.Attachment) {
	if rests := texts.Rests(); rests != "" {
		fmt.Fprintln(w, rests)
	}
	if texts.Missing > 0 {
		fmt.Fprintf(w, "%d of %d texts could not be read: the memory had another content by then, or was gone\n", texts.Missing, texts.Texts)
	}
}

// neverPause keeps Go's runtime from delaying the goroutine that reads the memory of
// processes, which must happen immediately. The goroutine has a P to run on, and the
// garbage collector, which stopped it for 100 ms on a busy machine, seldom runs.
func neverPause() {
	const percent, heap = 1000, 512 << 20
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	debug.SetGCPercent(percent)
	debug.SetMemoryLimit(heap)
}

// textWay returns the method that --text names, or "" for auto.
func textWay(name string) (syscalltext.Method, error) {
	if name == "auto" {
		return "", nil
	}
	if way := syscalltext.Method(name); slices.Contains(syscalltext.Methods(), way) {
		return way, nil
	}
	return "", usagef("--text %s: auto, tracepoint, kprobe, near, memory or none", name)
}
