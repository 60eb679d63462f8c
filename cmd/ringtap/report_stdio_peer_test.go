package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/testkit/perfrecord"
)

// perfsTable returns what perf report --stdio prints of a recording, as far as ringtap must print
// the same.
func perfsTable(t *testing.T, path string, args ...string) []string {
	t.Helper()
	all := append([]string{"report", "--stdio", "--no-inline", "-i", path}, args...)
	return alikeLines(perfrecord.Run(t, all...))
}

// ringtapsTable returns the same of ringtap report --stdio.
func ringtapsTable(t *testing.T, path string, args ...string) []string {
	t.Helper()
	code, stdout, stderr := called(t, append([]string{"ringtap", "report", "--stdio", path}, args...)...)
	if code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	return alikeLines(stdout)
}

// ofFunction matches the cell of a function.
var ofFunction = regexp.MustCompile(`\[[.k]\] (\S.*)$`)

// alikeLines returns the lines about samples and events, the headings, and the entries of the known
// program. Widths do not matter: they depend on names that perf and ringtap choose differently. For
// the same reason functions of other objects are left out.
func alikeLines(table string) (lines []string) {
	for line := range strings.Lines(table) {
		line = strings.Join(strings.Fields(line), " ")
		switch m := ofFunction.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "# Samples:"):
			// perf calls the leader of a group, shown by itself, "events".
			lines = append(lines, strings.Replace(line, " of events '", " of event '", 1))
		case strings.HasPrefix(line, "# Total Lost"), strings.HasPrefix(line, "# Event count"), strings.HasPrefix(line, "# Overhead"):
			lines = append(lines, line)
		case !strings.Contains(line, "known_"), strings.Contains(line, "[unknown]"):
		case m == nil, m[1] == "main", strings.HasPrefix(m[1], "known_"):
			lines = append(lines, line)
		}
	}
	return lines
}

func TestPeerTheTableOfPerfReportHasItsRows(t *testing.T) {
	program := knownStacks(t)
	keys := []string{"comm,dso,sym", "sym", "dso", "comm", "pid", "cpu,comm", "dso,sym,cpu", "pid,dso"}
	for _, mode := range []struct {
		perfrecord.Mode
		perf []string // more options of perf report
	}{
		{Mode: perfrecord.Mode{Name: "no callchains", Args: "-e cpu-clock -F 999"}},
		{Mode: perfrecord.Mode{Name: "callchains", Args: "-e cpu-clock -F 999 -g -a"}},
		{Mode: perfrecord.Mode{Name: "stacks", Args: "-e cpu-clock -F 999 --call-graph dwarf"}},
		{Mode: perfrecord.Mode{Name: "to a pipe", Args: "-e cpu-clock -F 999 -g", Pipe: true}},
		{Mode: perfrecord.Mode{Name: "two events", Args: "-e cpu-clock,page-faults -F 999 -g"}},
		{Mode: perfrecord.Mode{Name: "a group", Args: "-e {cpu-clock,page-faults} -F 999"}, perf: []string{"--no-group"}},
		{Mode: perfrecord.Mode{Name: "tracepoints", Args: "-e sched:sched_switch,sched:sched_wakeup -a -g"}},
		{Mode: perfrecord.Mode{Name: "a period", Args: "-e task-clock -c 500000 -g"}},
	} {
		t.Run(mode.Name, func(t *testing.T) {
			path := perfrecord.Record(t, mode.Mode, program)
			for _, sort := range keys {
				args := []string{"--no-children", "-g", "none", "--sort", sort}
				want, got := perfsTable(t, path, append(args, mode.perf...)...), ringtapsTable(t, path, args...)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("--sort %s (-perf +ringtap):\n%.4000s", sort, diff)
				}
				if !slices.ContainsFunc(want, func(line string) bool { return strings.Contains(line, "known_") }) && sort == "comm" {
					t.Errorf("--sort %s: perf has no known program: %q", sort, want)
				}
			}
		})
	}
}
