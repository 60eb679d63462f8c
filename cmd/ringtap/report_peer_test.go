package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/perfrecord"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// knownStacks builds the program of testdata/known_stacks.c.
func knownStacks(t *testing.T) string {
	t.Helper()
	return compiled.Program(t, compiled.Sources(t, "testdata/known_stacks.c"), "gcc", "-O1", "-g",
		"-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-o", "known_stacks", "known_stacks.c")
}

func TestPeerAReportHasTheStacksAndCountsOfPerf(t *testing.T) {
	program := knownStacks(t)
	for _, mode := range []perfrecord.Mode{
		{Name: "no callchains", Args: "-e cpu-clock -F 999"},
		{Name: "callchains", Args: "-e cpu-clock -F 999 -g -a"},
		{Name: "stacks", Args: "-e cpu-clock -F 999 --call-graph dwarf"},
		{Name: "packed stacks", Args: "-e cpu-clock -F 999 --call-graph dwarf -z"},
		{Name: "to a pipe", Args: "-e cpu-clock -F 999 -g", Pipe: true},
		{Name: "build ids", Args: "-e cpu-clock -F 999 -g --buildid-mmap"},
		{Name: "two events", Args: "-e cpu-clock,page-faults -F 999 -g"},
		{Name: "tracepoints", Args: "-e sched:sched_switch,sched:sched_wakeup_new -a -g"}, // it forks and ends
		{Name: "interrupt registers", Args: "-e cpu-clock -F 999 --intr-regs=ip,sp --user-regs=ip,sp"},
		{Name: "a period", Args: "-e task-clock -c 500000 -g"},
		{Name: "threads", Args: "-e cpu-clock -F 999 -a -g --threads"},
	} {
		t.Run(mode.Name, func(t *testing.T) {
			path := perfrecord.Record(t, mode, program)
			script := perfrecord.Run(t, "script", "--no-inline", "-F", "comm,event,period,ip,sym", "-i", path)
			for _, event := range eventsOf(t, path) {
				want, got := stacksOfScript(t, script, event), stacksOfReport(t, path, event)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-perf +ringtap):\n%.4000s", event, diff)
				}
				if want[total] == 0 || strings.HasSuffix(event, "clock") && len(want) < 2 {
					t.Errorf("perf has no %s:\n%.1000s", event, script)
				}
			}
		})
	}
}

// perf record -p reads the parent from /proc. Its children have their mappings and their name by
// their forks alone.
func TestPeerChildrenOfARecordedProcessHaveItsNameAndCode(t *testing.T) {
	path := recordedChildren(t, "-e cpu-clock -F 999 -g")
	got := stacksOfReport(t, path, "cpu-clock")
	var known uint64
	for stack, sum := range got {
		if strings.HasPrefix(stack, "main;known_middle;") {
			known += sum
		}
	}
	if known == 0 {
		t.Errorf("none of %d ns are in the children's functions: %v", got[total], got)
	}
	if diff := cmp.Diff(stacksOfScript(t, perfrecord.Run(t, "script", "--no-inline", "-F", "comm,event,period,ip,sym", "-i", path), "cpu-clock"), got); diff != "" {
		t.Errorf("(-perf +ringtap):\n%.4000s", diff)
	}
}

// recordedChildren returns perf's recording of a process that starts children, by its PID.
func recordedChildren(t *testing.T, args string) (path string) {
	t.Helper()
	perfrecord.Need(t)
	parent := exec.Command(knownStacks(t), "start children")
	input, err := parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, parent)
	path = perfrecord.Record(t, perfrecord.Mode{Args: args + " -p " + strconv.Itoa(parent.Process.Pid)}, "sleep", "1")
	input.Close()
	if err := parent.Wait(); err != nil {
		t.Error(err)
	}
	return path
}

// eventsOf returns the events of a recording that have samples.
func eventsOf(t *testing.T, path string) (names []string) {
	t.Helper()
	file, err := perfdata.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for i := range file.Events {
		if name := file.Events[i].Name; !strings.HasPrefix(name, "dummy") {
			names = append(names, name)
		}
	}
	return names
}

// total is the key of the sum of all the program's samples.
const total = "all samples"

// addStack adds a sample of the known program to the total and, if it is in a known function other than
// main, to the sum of its calls of known functions. Frames are root first. Other functions have several
// names, or are missing in perf or ringtap.
func addStack(sums map[string]uint64, frames []string, period uint64) {
	sums[total] += period
	frames = slices.DeleteFunc(frames, func(name string) bool { return !knownFunction.MatchString(name) })
	if len(frames) > 0 && frames[len(frames)-1] != "main" && period > 0 {
		sums[strings.Join(frames, ";")] += period
	}
}

// stacksOfScript returns the stacks of the known program in the text of perf script, with the sums
// of their periods.
func stacksOfScript(t *testing.T, script, event string) map[string]uint64 {
	t.Helper()
	head := regexp.MustCompile(`^\s*(\S.*?)\s+(\d+)\s+(\S+?):(?:[a-zA-Z]+:)?\s*(?:([0-9a-f]+) (.*))?$`)
	sums := make(map[string]uint64)
	add := func(frames []string, period uint64) {
		if frames != nil {
			addStack(sums, frames, period)
		}
	}
	var frames []string // of the current sample, root first; nil for others' samples
	var period uint64
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		if m := head.FindStringSubmatch(line); m != nil && !strings.HasPrefix(line, "\t") {
			add(frames, period)
			frames = nil
			if m[1] == "known_stacks" && m[3] == event {
				frames = []string{}
				period, _ = strconv.ParseUint(m[2], 10, 64)
				if m[4] != "" {
					frames = append(frames, m[5])
				}
			}
			continue
		}
		if _, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok && frames != nil {
			frames = slices.Insert(frames, 0, name)
		}
	}
	add(frames, period)
	return sums
}

// stacksOfReport returns the stacks of the known program that ringtap report writes.
func stacksOfReport(t *testing.T, path, column string) map[string]uint64 {
	t.Helper()
	folded := filepath.Join(t.TempDir(), "out.folded")
	code, _, stderr := called(t, "ringtap", "report", path, "--metric", column, "--out", folded)
	if code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	text, err := os.ReadFile(folded)
	if err != nil {
		t.Fatal(err)
	}
	sums := make(map[string]uint64)
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		space := strings.LastIndexByte(line, ' ')
		frames, count := strings.Split(line[:space], ";"), line[space+1:]
		if frames[0] != "known_stacks" {
			continue
		}
		frames = frames[1:]
		for i := range frames {
			frames[i] = strings.TrimSuffix(frames[i], "_[k]")
		}
		n, err := strconv.ParseUint(count, 10, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		addStack(sums, frames, n)
	}
	return sums
}
