package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/follow"
	"github.com/ringtap/ringtap/internal/syscalltext"
	"github.com/ringtap/ringtap/perfevent"
)

const tpointUsage = `tpoint [flags] {-l [PATTERN] | SYSTEM:EVENT [FILTER]} [-- COMMAND ARG...]

Traces a tracepoint of the kernel and prints a line for each hit, as the kernel
does. EVENT may be a pattern. FILTER is the kernel's event filter, over the fields
that -v shows.

  ringtap tpoint -l '*open*'
  ringtap tpoint syscalls:sys_enter_openat
  ringtap tpoint -s block:block_rq_issue
  ringtap tpoint 'sched:sched_process_*' 'pid > 1000'

The file names and other texts that system calls are given are shown behind their
addresses. ~"TEXT" was read from the process's memory a moment after the call,
and may not be what the call was given. --text chooses how it is done: as the
kernel's own tracepoint records it (Linux 6.19), by a kprobe in the tracepoint's
place, by the process's memory, or none.
`

// maxTracepoints is the most events that a pattern may stand for.
const maxTracepoints = 500

func traceTracepoint(ctx context.Context, out *console, args []string) (err error) {
	var t tracerFlags
	flags := newFlags(out, "tpoint", tpointUsage)
	t.add(flags)
	list := flags.BoolP("list", "l", false, "list the tracepoints, those that match a pattern if one follows")
	kernel := flags.BoolP("stacks", "s", false, "print the kernel stack of each hit")
	user := flags.BoolP("user", "u", false, "print the user stack of each hit")
	text := flags.String("text", "auto", "how texts that system calls point to are had: tracepoint, kprobe, memory, none, or auto, the best there is")
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
	case *list && len(rest) > 1:
		return usagef("unexpected argument %q: -l takes one pattern", rest[1])
	case *list:
		return listTracepoints(out, strings.Join(rest, ""))
	case len(rest) == 0:
		return usagef("no tracepoint given, such as sched:sched_switch")
	case len(rest) > 2:
		return usagef("unexpected argument %q: a tracepoint and a filter, each in one pair of quotes", rest[2])
	}
	fs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	names, err := chooseSampled(out, fs, rest[0])
	if err != nil {
		return err
	}
	if t.view {
		return viewTracepoints(out, fs, names)
	}
	filter := strings.Join(rest[1:], "")
	events, err := tracepointEvents(fs, names, filter)
	if err != nil {
		return err
	}
	texts, err := addTexts(events, syscalltext.Options{Tracefs: fs, Way: way, Logger: out.logger(t.verbose)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, texts.Close()) }()
	if texts.Seen() != nil {
		neverPause()
	}
	target, command, err := t.target()
	if err != nil {
		return err
	}
	defer leave(command)
	err = trace(ctx, out, &t, tracing{
		name: rest[0], events: events, seen: texts.Seen(), stacks: lineStacks(*user, *kernel), target: target, command: command,
	})
	if errors.Is(err, perfevent.ErrFilter) {
		return explainFilter(fs, names, filter, err)
	}
	return err
}

// neverPause has what reads the memory of processes, which must happen at once,
// wait for nothing of ours: neither for a place to run nor for the garbage
// collector, which stopped it for a hundred milliseconds on a busy machine.
func neverPause() {
	const percent, heap = 1000, 512 << 20
	runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	debug.SetGCPercent(percent)
	debug.SetMemoryLimit(heap)
}

// textWay is the way that --text names.
func textWay(name string) (syscalltext.Way, error) {
	if name == "auto" {
		return "", nil
	}
	if way := syscalltext.Way(name); slices.Contains(syscalltext.Ways(), way) {
		return way, nil
	}
	return "", usagef("--text %s: auto, tracepoint, kprobe, memory or none", name)
}

// notSampled is the tracepoint that a sample may be the cause of, and of which the kernel
// therefore makes none (arch/x86/include/asm/trace/irq_vectors.h).
var notSampled = ftrace.EventName{System: "irq_vectors", Name: "irq_work_exit"}

// chooseSampled returns the tracepoints that a name or pattern stands for, without the
// one that can't be sampled if it stands for others too.
func chooseSampled(out *console, fs *ftrace.FS, pattern string) ([]ftrace.EventName, error) {
	names, err := chooseTracepoints(fs, pattern)
	if i := slices.Index(names, notSampled); i >= 0 && len(names) > 1 {
		fmt.Fprintf(out.stderr, "note: %s is left out: the kernel lets nobody sample it; funccount counts it\n", notSampled)
		names = slices.Delete(names, i, i+1)
	}
	return names, err
}

// chooseTracepoints returns the tracepoints that a name or pattern stands for.
func chooseTracepoints(fs *ftrace.FS, pattern string) ([]ftrace.EventName, error) {
	if !strings.Contains(pattern, ":") {
		return nil, usagef("%q is no tracepoint: they are called SYSTEM:EVENT, see ringtap tpoint -l", pattern)
	}
	glob, err := parseGlob(pattern)
	if err != nil {
		return nil, err
	}
	all, err := fs.Events()
	if err != nil {
		return nil, err
	}
	var chosen []ftrace.EventName
	var names []string
	for _, event := range all {
		name := event.String()
		names = append(names, name)
		if glob.Match(name) {
			chosen = append(chosen, event)
		}
	}
	switch near := nearest(pattern, names); {
	case len(chosen) > maxTracepoints:
		return nil, fmt.Errorf("%q stands for %d tracepoints; at most %d are traced at once", pattern, len(chosen), maxTracepoints)
	case len(chosen) > 0:
		return chosen, nil
	case near != "":
		return nil, fmt.Errorf("tracepoint %s not found; did you mean %s?", pattern, near)
	}
	return nil, fmt.Errorf("tracepoint %s not found: see ringtap tpoint -l", pattern)
}

// tracepointEvents makes events of tracepoints.
func tracepointEvents(fs *ftrace.FS, names []ftrace.EventName, filter string) ([]follow.Event, error) {
	var events []follow.Event
	for _, name := range names {
		format, err := fs.Format(name.System, name.Name)
		if err != nil {
			return nil, err
		}
		events = append(events, follow.Event{
			Event:  perfevent.Tracepoint(uint64(format.ID), name.String()),
			Format: format,
			Filter: filter,
		})
	}
	return events, nil
}

// addTexts has the events show the texts that their parameters point to. The
// caller closes the attachment.
func addTexts(events []follow.Event, o syscalltext.Options) (*syscalltext.Attachment, error) {
	var formats []*ftrace.Format
	for _, e := range events {
		formats = append(formats, e.Format)
	}
	texts, err := syscalltext.Attach(formats, o)
	if err != nil {
		return nil, err
	}
	for i, e := range texts.Events {
		events[i].Event, events[i].Format = e.Event, e.Format
		events[i].Ask = func(s *perfevent.Sampling) { texts.Ask(i, s) }
		events[i].Raw = func(dst []byte, s *perfevent.Sample) []byte { return texts.Raw(dst, i, s) }
	}
	return texts, nil
}

// explainFilter finds the event that refuses the filter, and why.
func explainFilter(fs *ftrace.FS, names []ftrace.EventName, filter string, refused error) error {
	for _, name := range names {
		if err := fs.ExplainFilter(name.System, name.Name, filter); err != nil {
			return wrongDefinition(err)
		}
	}
	return refused
}

func viewTracepoints(out *console, fs *ftrace.FS, names []ftrace.EventName) error {
	for _, name := range names {
		text, err := fs.FormatText(name.System, name.Name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out.stdout, "%s", text); err != nil {
			return ignoreClosedPipe(err)
		}
	}
	return nil
}

// listTracepoints prints the tracepoints, one a line.
func listTracepoints(out *console, pattern string) error {
	matches, err := matcher(pattern)
	if err != nil {
		return err
	}
	fs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	events, err := fs.Events()
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, event := range events {
		if matches(event.String()) {
			text.WriteString(event.String() + "\n")
		}
	}
	_, err = fmt.Fprint(out.stdout, text.String())
	return ignoreClosedPipe(err)
}
