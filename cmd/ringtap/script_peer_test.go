package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/testkit/perfrecord"
)

// scriptModes are the modes of perf record whose text must be perf's.
var scriptModes = []perfrecord.Mode{
	{Name: "no callchains", Args: "-e cpu-clock -F 999"},
	{Name: "CPUs", Args: "-e cpu-clock -F 999 --sample-cpu"},
	{Name: "callchains", Args: "-e cpu-clock -F 999 -g"},
	{Name: "all CPUs", Args: "-e cpu-clock -F 999 -g -a"},
	{Name: "stacks", Args: "-e cpu-clock -F 999 --call-graph dwarf"},
	{Name: "packed stacks", Args: "-e cpu-clock -F 999 --call-graph dwarf -z"},
	{Name: "to a pipe", Args: "-e cpu-clock -F 999 -g", Pipe: true},
	{Name: "build ids", Args: "-e cpu-clock -F 999 -g --buildid-mmap"},
	{Name: "two events", Args: "-e cpu-clock,page-faults -F 999 -g"},
	{Name: "two events without callchains", Args: "-e cpu-clock,page-faults -F 999"},
	{Name: "one of two events has callchains", Args: "-e cpu-clock/call-graph=fp/,page-faults -F 999"},
	{Name: "tracepoints", Args: "-e sched:sched_switch,sched:sched_wakeup -a"},
	{Name: "tracepoints with callchains", Args: "-e sched:sched_switch,cpu-clock -a -g"},
	{Name: "pointers, functions and texts", Args: "-e kmem:kmalloc,timer:hrtimer_start,rcu:rcu_utilization,syscalls:sys_enter_openat,syscalls:sys_exit_openat -a"},
	{Name: "switches", Args: "-e cpu-clock -F 999 -g --switch-events"},
	{Name: "user only", Args: "-e cpu-clock:u -F 999 -g"},
	{Name: "interrupt registers", Args: "-e cpu-clock -F 999 --intr-regs=ip,sp --user-regs=ip,sp"},
	{Name: "a period", Args: "-e task-clock -c 500000 -g"},
	{Name: "threads", Args: "-e cpu-clock -F 999 -a -g --threads"},
}

func TestPeerAScriptIsTheTextOfPerf(t *testing.T) {
	program := knownStacks(t)
	for _, mode := range scriptModes {
		t.Run(mode.Name, func(t *testing.T) {
			path := perfrecord.Record(t, mode, program)
			times := strings.Fields("-i " + path + " --ns -F pid,tid,time")
			wantOrder := orderOfTies(perfrecord.Run(t, append([]string{"script"}, times...)...))
			gotOrder := orderOfTies(printedScript(t, times...))
			for _, options := range []string{"", "-G", "-F comm,pid,tid,time,event,ip,sym,dso --ns", "-F +pid,-symoff --max-stack 3", "-F -ip", "-F comm,event,sym,ip"} {
				want := samplesOfScript(perfrecord.Run(t, append(strings.Fields("script --no-inline -i "+path), strings.Fields(options)...)...))
				got := samplesOfScript(printedScript(t, append([]string{"-i", path}, strings.Fields(options)...)...))
				want, got = inOrder(want, wantOrder), inOrder(got, gotOrder)
				leaveOut(want, got, strings.Contains(mode.Args, "dwarf"))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%q (-perf +ringtap):\n%.1500s", options, diff)
				}
				if len(want) < 10 {
					t.Errorf("%q: perf has %d samples", options, len(want))
				}
			}
		})
	}
}

// What folds perf's text folds ringtap's.
func TestPeerAScriptFoldsAsPerfs(t *testing.T) {
	program := knownStacks(t)
	for _, mode := range []perfrecord.Mode{
		{Name: "callchains", Args: "-e cpu-clock -F 999 -g -a"},
		{Name: "stacks", Args: "-e cpu-clock -F 999 --call-graph dwarf"},
	} {
		t.Run(mode.Name, func(t *testing.T) {
			path := perfrecord.Record(t, mode, program)
			dir := t.TempDir()
			fold := func(name, text string) map[string]uint64 {
				file := filepath.Join(dir, name)
				if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
				return stacksOfReport(t, file, "cpu-clock")
			}
			want := fold("perf", perfrecord.Run(t, "script", "--no-inline", "-i", path))
			got := fold("ringtap", printedScript(t, "-i", path))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-perf +ringtap):\n%.4000s", diff)
			}
			if len(want) < 3 {
				t.Errorf("perf has %v", want)
			}
		})
	}
}

// printedScript returns what ringtap script prints.
func printedScript(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := called(t, append([]string{"ringtap", "script"}, args...)...)
	if code != 0 {
		t.Fatalf("ringtap script %q: exit status %d: %s", args, code, stderr)
	}
	return stdout
}

// frameInHead is the frame of a sample without a callchain. It follows the name of the event.
var frameInHead = regexp.MustCompile(`^ +[0-9a-f]+( .*)?$`)

// withoutFrame returns the head of a sample without its frame.
func withoutFrame(head string) string {
	at := strings.LastIndex(head, ": ") + len(": ")
	if frameInHead.MatchString(head[at:]) {
		return head[:at]
	}
	return head
}

// samplesOfScript returns the samples in the text of perf script, each with its head and its frames.
func samplesOfScript(text string) (samples [][]string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "":
		case !strings.HasPrefix(line, "\t"):
			samples = append(samples, []string{line})
		default:
			last := &samples[len(samples)-1]
			*last = append(*last, line)
		}
	}
	return samples
}

// orderOfTies returns the indices of the samples in a text that has their times in nanoseconds. Those of
// the same time are sorted.
func orderOfTies(text string) (order []int) {
	heads := samplesOfScript(text)
	for i := range heads {
		order = append(order, i)
	}
	perfrecord.OrderTies(order, func(i int) string { return heads[i][0] })
	return order
}

// inOrder returns samples in the order of the indices, if there is one for each.
func inOrder(samples [][]string, order []int) [][]string {
	if len(order) != len(samples) {
		return samples
	}
	sorted := make([][]string, len(samples))
	for i, from := range order {
		sorted[i] = samples[from]
	}
	return sorted
}

// leaveOut removes from the samples of both texts what perf and ringtap may tell differently:
//
//   - Of all functions but the known ones, the name. They may have several, and perf takes the first
//     stub of .plt for a part of _init.
//   - Of samples in execve(2), the frames. perf still has the mappings of the former program, so that
//     the call may have its name in one of the texts only.
//   - Of samples of other programs, the frames.
//   - Of samples with copied stacks, the frames, unless a known function was running, and the callers
//     of main. perf cannot unwind the dynamic linker, and does not always unwind libc.
func leaveOut(want, got [][]string, copied bool) {
	for i := range max(len(want), len(got)) {
		var texts []*[]string
		for _, samples := range [][][]string{want, got} {
			if i < len(samples) {
				texts = append(texts, &samples[i])
			}
		}
		framesDiffer := slices.ContainsFunc(texts, func(sample *[]string) bool {
			return !strings.HasPrefix(strings.TrimLeft((*sample)[0], " "), "known_stacks ") || isInExecve(*sample) || copied && !isInKnown(*sample)
		})
		for _, sample := range texts {
			if framesDiffer {
				*sample = []string{withoutFrame((*sample)[0])}
			}
			if copied {
				*sample = upToMain(*sample)
			}
			for j, line := range *sample {
				(*sample)[j] = withoutName(line, j == 0)
			}
		}
	}
}

// isInExecve reports whether a frame of a sample is a function of execve(2).
func isInExecve(sample []string) bool {
	return slices.ContainsFunc(sample, func(line string) bool { return strings.Contains(line, "execve") })
}

// upToMain returns a sample without the callers of main.
func upToMain(sample []string) []string {
	for i, line := range sample[1:] {
		if name := frameLine.FindStringSubmatch(line)[2]; knownFunction.MatchString(name) && strings.HasPrefix(name, "main") {
			return sample[:i+2]
		}
	}
	return sample
}

// isInKnown reports whether a known function ran in user mode when a sample was taken.
func isInKnown(sample []string) bool {
	for _, line := range sample[1:] {
		part := frameLine.FindStringSubmatch(line)
		if address := strings.TrimSpace(part[1]); len(address) < len("ffffffff81000000") {
			return knownFunction.MatchString(part[2])
		}
	}
	return len(sample) == 1 // the text has no frames
}

// knownFunction is the name of a function of testdata/known_stacks.c.
var knownFunction = regexp.MustCompile(`^(known_first|known_second|known_middle|main)(\+0x[0-9a-f]+)?$`)

// frameLine is a frame: its address, if asked for, its name and its file.
var frameLine = regexp.MustCompile(`^(\t? *(?:[0-9a-f]+ )?)(.*?)( \(.*)?$`)

// withoutName returns a frame without its name, unless it is one of the known functions. The
// frame of a sample without a callchain ends the sample's head.
func withoutName(line string, head bool) string {
	at := 0
	if head {
		if at = strings.LastIndex(line, ": ") + 1; !frameInHead.MatchString(line[at:]) {
			return line
		}
	}
	part := frameLine.FindStringSubmatch(line[at:])
	if knownFunction.MatchString(part[2]) {
		return line
	}
	return line[:at] + part[1] + part[3]
}
