package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/perfrecord"
)

// isKnownChain reports whether the known program has a stack: main has called known_middle four or nine
// times, one from the other, when known_first or known_second run. Another test's program that starts
// children, which a recording of all CPUs has too, calls it three times.
func isKnownChain(stack string) bool {
	rest, inMain := strings.CutPrefix(stack+";", "main;")
	middle := 0
	for ; strings.HasPrefix(rest, "known_middle;"); middle++ {
		rest = strings.TrimPrefix(rest, "known_middle;")
	}
	if strings.HasPrefix(rest, "known_") {
		return inMain && (middle == 3 || middle == 4 || middle == 9)
	}
	return inMain && middle <= 9
}

// What ringtap record writes, perf opens without a warning. It shows the same stacks as ringtap, and the
// program knows that they are right.
func TestPeerPerfReadsWhatRecordWrites(t *testing.T) {
	perfrecord.Need(t)
	program := knownStacks(t)
	for _, tt := range []struct {
		name, options string
		stacks        bool // the samples of the first event have the known stacks
	}{
		{"unwound", "-F 999", true},
		{"not packed", "-F 999 -z0", true},
		{"tables alone", "-F 999 --call-graph dwarf,16384", true},
		{"frame pointers", "-F 999 --call-graph fp", true},
		{"no stacks", "-F 999 --call-graph none", false},
		{"registers and copies", "-F 999 --no-unwind", true},
		{"the kernel's walk", "-F 999 --no-unwind --call-graph fp", false}, // it skips the caller of a function that just began
		{"all CPUs", "-F 999 -a", true},
		{"a period", "-e task-clock -c 500000", true},
		{"each event", "-e page-faults -c 1", false},
		{"two events", "-F 999 -e cpu-clock:u,task-clock:u", true},
		{"tracepoints", "-e cpu-clock,sched:sched_switch -a", true},
		{"a filter", "-e cpu-clock -e sched:sched_switch --filter prev_pid>0", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "perf.data")
			counts := recordedWith(t, path, tt.options, program)
			script := perfrecord.Quietly(t, "script", "--no-inline", "-F", "comm,event,period,ip,sym", "-i", path)
			perfrecord.Quietly(t, "report", "--stdio", "-i", path)
			perfrecord.Quietly(t, "report", "--header-only", "-I", "-i", path)
			for i, event := range eventsOf(t, path) {
				want, got := stacksOfScript(t, script, strings.TrimSuffix(event, ":u")), stacksOfReport(t, path, event)
				if strings.Contains(tt.options, "--no-unwind") { // perf unwinds by itself, and not always to the end
					want, got = map[string]uint64{total: want[total]}, map[string]uint64{total: got[total]}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-perf +ringtap):\n%.4000s", event, diff)
				}
				if n := strings.Count(script, " "+event+":"); n != counts[event] || n == 0 {
					t.Errorf("%s: perf has %d samples, and ringtap wrote %d", event, n, counts[event])
				}
				if i > 0 || !tt.stacks {
					continue
				}
				stacks := stacksOfReport(t, path, event)
				if len(stacks) < 5 {
					t.Errorf("%s: there should be four known stacks: %v", event, stacks)
				}
				for stack := range stacks {
					if stack != total && !isKnownChain(stack) {
						t.Errorf("%s: the program has no stack %s", event, stack)
					}
				}
			}
		})
	}
}

// recordedWith records a program with ringtap, and returns how many samples of each event ringtap says
// that it has written.
func recordedWith(t *testing.T, path, options, program string) map[string]int {
	t.Helper()
	args := append([]string{"ringtap", "record", "-o", path}, strings.Fields(options)...)
	code, _, stderr := called(t, append(args, "--", program)...)
	if code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	wrote := regexp.MustCompile(`(?m)^wrote ` + regexp.QuoteMeta(path) + `: \d.* \w+; samples: (.*)$`).FindStringSubmatch(stderr)
	if wrote == nil {
		t.Fatalf("ringtap does not say what it wrote: %s", stderr)
	}
	counts := make(map[string]int)
	for part := range strings.SplitSeq(wrote[1], ", ") {
		number, event, _ := strings.Cut(part, " of ")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatalf("%q: %v", part, err)
		}
		counts[event] = n
	}
	return counts
}

// A tracepoint's fields, and times, are those of perf script from the recorded formats.
func TestPeerTracepointsOfRecordHaveTheirTexts(t *testing.T) {
	perfrecord.Need(t)
	path := filepath.Join(t.TempDir(), "perf.data")
	recordedWith(t, path, "-a -e sched:sched_switch,sched:sched_wakeup,rcu:rcu_utilization,syscalls:sys_enter_openat", knownStacks(t))
	for _, options := range []string{"-G", "-G -F +pid --ns"} {
		want := perfrecord.Quietly(t, append(strings.Fields("script --no-inline -i "+path), strings.Fields(options)...)...)
		got := printedScript(t, append([]string{"-i", path}, strings.Fields(options)...)...)
		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("%q (-perf +ringtap):\n%.3000s", options, diff)
		}
		if n := strings.Count(want, "\n"); n < 10 {
			t.Errorf("%q: perf has %d lines", options, n)
		}
	}
}

// A probe's arguments are in its samples: perf shows those that the program passes, and so does ringtap.
func TestPeerProbesOfRecordHaveTheirArguments(t *testing.T) {
	perfrecord.Need(t)
	needTracefs(t, "uprobe_events")
	program := compiled.Program(t, compiled.Sources(t, "testdata/requests.c"), "gcc", "-O2", "-g", "-o", "requests", "requests.c")
	path := filepath.Join(t.TempDir(), "perf.data")
	code, _, stderr := called(t, "ringtap", "record", "-o", path, "-e", "p:"+program+":handle name:string n", "-e", "r:"+program+":handle $retval:s32", "--", "sh", "-c", "exec "+program+" >/dev/null")
	if code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	for reader, script := range map[string]string{
		"perf":    perfrecord.Quietly(t, "script", "--no-inline", "-i", path),
		"ringtap": printedScript(t, "-i", path),
	} {
		for i := range 1000 {
			name := fmt.Sprintf("req-%d", i)
			call := regexp.MustCompile(fmt.Sprintf(`probe:handle: \([0-9a-f]+\) name="%s" n=%d\n\s+[0-9a-f]+ handle\+0x0 \(.*\)\n\s+[0-9a-f]+ outer\+`, name, i))
			if n := len(call.FindAllString(script, -1)); n != 1 {
				t.Fatalf("%s: the call with %s is there %d times in\n%.500s", reader, name, n, script)
			}
		}
		returns := regexp.MustCompile(`probe:handle\w*: \([0-9a-f]+ <- [0-9a-f]+\) arg1=(\d+)`).FindAllStringSubmatch(script, -1)
		for i, m := range returns {
			if want := fmt.Sprint(len(fmt.Sprintf("req-%d %d\n", i, i))); m[1] != want {
				t.Errorf("%s: return %d is %s, want %s", reader, i, m[1], want)
			}
		}
		if len(returns) != 1000 {
			t.Errorf("%s: %d returns, want 1000", reader, len(returns))
		}
	}
}

// A recording through a pipe is the same to both readers.
func TestPeerPerfReadsRecordsPipe(t *testing.T) {
	perfrecord.Need(t)
	path := filepath.Join(t.TempDir(), "pipe.data")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var said bytes.Buffer
	cmd := exec.Command(exe)
	cmd.Args = []string{"ringtap", "record", "-F", "999", "-o", "-", "--", knownStacks(t)}
	cmd.Stdout, cmd.Stderr = out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &said)
	}
	script := perfrecord.Quietly(t, "script", "--no-inline", "-F", "comm,event,period,ip,sym", "-i", path)
	event := eventsOf(t, path)[0]
	want, got := stacksOfScript(t, script, event), stacksOfReport(t, path, event)
	if diff := cmp.Diff(want, got); diff != "" || len(got) < 5 {
		t.Errorf("%d stacks (-perf +ringtap):\n%.4000s", len(got), diff)
	}
}
