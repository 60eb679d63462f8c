package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/names"
	"github.com/ringtap/ringtap/internal/report"
	"github.com/ringtap/ringtap/perfevent"
)

const listUsage = `list [PATTERN]

List the events that this kernel offers: software counters, the hardware counters that the
machine has, and tracepoints. ringtap uprobe -l lists the functions of a program.

  ringtap list                 all events
  ringtap list 'sched:*'       the tracepoints of the scheduler
  ringtap list cache           events whose names contain cache
`

func listEvents(_ context.Context, out *console, args []string) error {
	flags := newFlags(out, "list", listUsage)
	if err := parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() > 1 {
		return usagef("unexpected argument %q: list takes one pattern", flags.Arg(1))
	}
	pattern := flags.Arg(0)
	matches, err := matcher(pattern)
	if err != nil {
		return err
	}
	var rows [][]string
	add := func(name, kind string) {
		if matches(name) {
			rows = append(rows, []string{name, kind})
		}
	}
	for _, event := range perfevent.SoftwareEvents() {
		add(event.String(), "software counter")
	}
	for _, event := range perfevent.HardwareEvents() {
		if perfevent.Available(event) {
			add(event.String(), "hardware counter")
		}
	}
	fs, _, err := ftrace.Mount()
	if err != nil {
		fmt.Fprintln(out.stderr, "no tracepoints:", err)
	} else if err := addTracepoints(fs, add); err != nil {
		return err
	}
	if len(rows) == 0 {
		return fmt.Errorf("no event matches %q", pattern)
	}
	return ignoreClosedPipe(report.WriteTable(out.stdout, []string{"event", "kind"}, rows,
		report.TableOptions{Drawn: out.drawn, Width: out.width}))
}

func addTracepoints(fs *ftrace.FS, add func(name, kind string)) error {
	events, err := fs.Events()
	if err != nil {
		return err
	}
	for _, event := range events {
		add(event.String(), "tracepoint")
	}
	return nil
}

// matcher returns what tells whether a name is wanted: it matches the pattern or,
// as in perf list, holds it as it stands. No pattern wants all.
func matcher(pattern string) (func(name string) bool, error) {
	glob, err := parseGlob(pattern)
	return func(name string) bool { return glob.Match(name) || strings.Contains(name, pattern) }, err
}

func parseGlob(pattern string) (names.Glob, error) {
	glob, err := names.ParseGlob(pattern)
	if err != nil {
		err = usagef("pattern %q: %w", pattern, err)
	}
	return glob, err
}
