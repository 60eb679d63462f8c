package main

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/report"
	"github.com/ringtap/ringtap/perfevent"
)

const listUsage = `list [PATTERN]

Lists the events that this kernel offers: its own counters, hardware counters as
far as the machine shows them, tracepoints. The functions of a program are listed
by ringtap uprobe -l.

  ringtap list 'sched:*'
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
	if _, err := path.Match(pattern, ""); err != nil {
		return usagef("pattern %q: %w", pattern, err)
	}
	var rows [][]string
	add := func(name, kind string) {
		if matches(pattern, name) {
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
		return fmt.Errorf("no event is called %q", pattern)
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

// matches tells whether a name is wanted: it matches the pattern or, as in
// perf list, holds it as it stands. No pattern wants all. The slashes in names of
// Go divide nothing, as where a pattern is probed.
func matches(pattern, name string) bool {
	ok, _ := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(name, "/", "\x00"))
	return ok || strings.Contains(name, pattern)
}
