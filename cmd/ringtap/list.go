package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/names"
	"github.com/ringtap/ringtap/internal/probe"
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
	wanted, err := names.Search(pattern)
	if err != nil {
		return wrongSpec(err)
	}
	var rows [][]string
	for _, event := range perfevent.SoftwareEvents() {
		if wanted(event.String()) {
			rows = append(rows, []string{event.String(), "software counter"})
		}
	}
	for _, event := range perfevent.HardwareEvents() {
		if wanted(event.String()) && perfevent.Available(event) {
			rows = append(rows, []string{event.String(), "hardware counter"})
		}
	}
	tracepoints, err := probe.Tracepoints(pattern)
	switch {
	case err != nil && len(rows) == 0:
		return err
	case err != nil:
		fmt.Fprintln(out.stderr, "no tracepoints:", err)
	}
	for _, name := range tracepoints {
		rows = append(rows, []string{name, "tracepoint"})
	}
	if len(rows) == 0 {
		return fmt.Errorf("no event matches %q", pattern)
	}
	return ignoreClosedPipe(report.WriteTable(out.stdout, []string{"event", "kind"}, rows,
		report.TableOptions{Drawn: out.drawn, Width: out.width}))
}

// listNames prints what can be probed, one a line.
func listNames(out *console, names, notes []string, err error) error {
	for _, note := range notes {
		out.note(note)
	}
	if err != nil {
		return wrongSpec(err)
	}
	var text strings.Builder
	for _, name := range names {
		text.WriteString(escape.Text(name) + "\n")
	}
	_, err = fmt.Fprint(out.stdout, text.String())
	return ignoreClosedPipe(err)
}
