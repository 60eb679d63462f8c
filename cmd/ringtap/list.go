package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/ringtap/ringtap/internal/output"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/internal/text/match"
	"github.com/ringtap/ringtap/perfevent"
)

const listUsage = `list [PATTERN]
list -i FILE

List the events that this kernel offers: software counters, the hardware counters that the
machine has, and tracepoints. ringtap uprobe -l lists the functions of a program. With -i,
show what a recording of perf record holds: its host, its command, its events, and how many
samples of each.

  ringtap list                 all events
  ringtap list 'sched:*'       the tracepoints of the scheduler
  ringtap list cache           events whose names contain cache
  ringtap list -i perf.data    the events of a recording
`

func listEvents(_ context.Context, out *console, args []string) error {
	flags := newFlags(out, "list", listUsage)
	recording := flags.StringP("input", "i", "", "read `FILE`, a recording, and show what it holds: a perf.data file, the directory of perf record --threads, or - for standard input")
	if err := parse(flags, args); err != nil {
		return err
	}
	if *recording != "" {
		if flags.NArg() > 0 {
			return usagef("unexpected argument %q: list -i takes one file", flags.Arg(0))
		}
		return listRecording(out, *recording)
	}
	if flags.NArg() > 1 {
		return usagef("unexpected argument %q: list takes one pattern", flags.Arg(1))
	}
	pattern := flags.Arg(0)
	wanted, err := match.Search(pattern)
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
		if _, err := os.Stat(pattern); err == nil {
			return fmt.Errorf("no event matches %q; ringtap list -i %s shows what a recording holds", pattern, pattern)
		}
		return fmt.Errorf("no event matches %q", pattern)
	}
	return ignoreClosedPipe(output.WriteTable(out.stdout, []string{"event", "kind"}, rows,
		output.TableOptions{Drawn: out.drawn, Width: out.width}))
}

// listNames prints the notes and then the names of what can be probed, one per line. If
// err, the error of the search, is not nil, it returns err instead.
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
