package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/perfrecord"
)

// perfsTable returns what perf report --stdio prints of a recording.
func perfsTable(t *testing.T, path string, args ...string) string {
	t.Helper()
	return perfrecord.Run(t, append([]string{"report", "--stdio", "--no-inline", "-i", path}, args...)...)
}

// ringtapsTable returns what ringtap report --stdio prints of it.
func ringtapsTable(t *testing.T, path string, args ...string) string {
	t.Helper()
	code, stdout, stderr := called(t, append([]string{"ringtap", "report", "--stdio", path}, args...)...)
	if code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	return stdout
}

// ofFunction matches the cell of a function.
var ofFunction = regexp.MustCompile(`\[[.k]\] (\S.*)$`)

// isKnown reports whether a function is one of the known program's own. Where ringtap has the start
// of an unnamed function ("known_stacks+0x1020"), perf has an address.
func isKnown(function string) bool {
	return function == "main" || strings.HasPrefix(function, "known_") && !strings.Contains(function, "+")
}

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
		case strings.HasPrefix(line, "# Total Lost"), strings.HasPrefix(line, "# Event count"), strings.HasPrefix(line, "# Overhead"), strings.HasPrefix(line, "# Children"):
			lines = append(lines, line)
		case !strings.Contains(line, "known_"), strings.Contains(line, "[unknown]"):
		case m == nil, isKnown(m[1]):
			lines = append(lines, line)
		}
	}
	return lines
}

// checkRows compares the rows of both tables, without callchains, and returns perf's. perfs are options of
// perf report alone.
func checkRows(t *testing.T, path string, options []string, perfs ...string) []string {
	t.Helper()
	args := append(slices.Clip(options), "-g", "none")
	want, got := alikeLines(perfsTable(t, path, append(slices.Clip(args), perfs...)...)), alikeLines(ringtapsTable(t, path, args...))
	slices.Sort(want) // entries of equal shares may have another order
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q (-perf +ringtap):\n%.4000s", options, diff)
	}
	return want
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
		{Mode: perfrecord.Mode{Name: "callchains of user code", Args: "-e cpu-clock -F 999 -g --user-callchains"}},
		{Mode: perfrecord.Mode{Name: "callchains of the kernel", Args: "-e cpu-clock -F 999 -g --kernel-callchains"}},
		{Mode: perfrecord.Mode{Name: "a period", Args: "-e task-clock -c 500000 -g"}},
	} {
		t.Run(mode.Name, func(t *testing.T) {
			path := perfrecord.Record(t, mode.Mode, program)
			for _, sort := range keys {
				want := checkRows(t, path, []string{"--no-children", "--sort", sort}, mode.perf...)
				if !slices.ContainsFunc(want, func(line string) bool { return strings.Contains(line, "known_") }) && sort == "comm" {
					t.Errorf("--sort %s: perf has no known program: %q", sort, want)
				}
			}
		})
	}
}

// Entries of equal shares may have another order, and rare functions may have equal shares: they are
// left out. Copies of the stack are left out too: perf's unwinder finds no callers at some
// instructions.
func TestPeerTheTableOfPerfReportHasItsCallchains(t *testing.T) {
	program := knownStacks(t)
	for _, mode := range []perfrecord.Mode{
		{Name: "callchains", Args: "-e cpu-clock:u -F 1999 -g"},
		{Name: "to a pipe", Args: "-e cpu-clock:u -F 1999 -g", Pipe: true},
		{Name: "two events", Args: "-e cpu-clock:u,page-faults:u -F 1999 -g"},
		{Name: "no callchains", Args: "-e cpu-clock:u -F 1999"},
	} {
		t.Run(mode.Name, func(t *testing.T) {
			path := perfrecord.Record(t, mode, program)
			sets := []string{"", "--no-children", "-n --sort comm,sym", "-g none", "-g callee", "-g fractal,2,caller,period", "-g graph,2,caller,count --no-children", "--sort sym"}
			switch {
			case mode.Name == "no callchains":
				sets = []string{"", "-n"} // perf refuses -g
			case mode.Pipe: // perf has no children then
				sets = []string{"--no-children", "--no-children -n -g fractal,5,callee,count"}
			}
			for _, options := range sets {
				args := append([]string{"--percent-limit", "5"}, strings.Fields(options)...)
				want, got := alikeEntries(perfsTable(t, path, args...)), alikeEntries(ringtapsTable(t, path, args...))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-perf +ringtap):\n%.4000s", options, diff)
				}
				if len(want) == 0 {
					t.Errorf("%s: perf has no known entry", options)
				}
			}
		})
	}
}

// alikeEntries returns the entries of the known program's functions, with the callchains below them.
func alikeEntries(table string) map[string]string {
	entries := make(map[string]string)
	var event, entry string
	for line := range strings.Lines(table) {
		fields := strings.Join(strings.Fields(line), " ")
		switch {
		case strings.HasPrefix(line, "# Samples:"):
			event = fields
		case strings.HasPrefix(line, "#"):
		case fields == "":
			entry = ""
		case !strings.HasPrefix(line, "        "): // a line of a callchain has twelve blanks
			entry = ""
			if m := ofFunction.FindStringSubmatch(fields); m != nil && isKnown(m[1]) {
				entry = event + ": " + fields
				entries[entry] = ""
			}
		case entry != "":
			line, _, versioned := strings.Cut(line, "@@") // of a symbol: ringtap leaves it out
			if versioned {
				line += "\n"
			}
			// perf does not initialize whether what is left out was inlined.
			entries[entry] += strings.Replace(line, "[...] (inlined)", "[...]", 1)
		}
	}
	return entries
}

func TestPeerThreadsHaveTheirOwnNamesInTheTable(t *testing.T) {
	program := compiled.Program(t, compiled.Sources(t, "testdata/named_threads.c"), "gcc", "-O1", "-g",
		"-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread", "-o", "known_names", "named_threads.c")
	path := perfrecord.Record(t, perfrecord.Mode{Args: "-e cpu-clock:u -F 1999 -g"}, program)
	for _, options := range []string{"--sort comm", "--sort pid", "--sort comm,dso,sym", "--sort pid,sym --no-children"} {
		want := checkRows(t, path, strings.Fields(options))
		for _, name := range []string{"known_renamed", "known_a", "known_b"} {
			if !strings.Contains(strings.Join(want, "\n"), name) {
				t.Errorf("%s: perf has no %s: %q", options, name, want)
			}
		}
	}
}

// perf record -p reads the parent from /proc. Its children have its name by their forks alone.
func TestPeerChildrenOfARecordedProcessAreInTheTable(t *testing.T) {
	path := recordedChildren(t, "-e cpu-clock:u -F 999 -g")
	for _, options := range []string{"--no-children --sort comm,dso,sym", "--sort pid,sym"} {
		checkRows(t, path, strings.Fields(options))
	}
}
