package main

import (
	"cmp"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/firefoxprofile"
	"github.com/ringtap/ringtap/internal/testkit/perfrecord"
)

// firefoxOf returns the Firefox profile that ringtap flame makes of a recording, and what it said.
func firefoxOf(t *testing.T, recording string, args ...string) (*firefoxprofile.Profile, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out.firefox.json")
	code, _, stderr := called(t, append([]string{"ringtap", "flame", "--out", path, recording}, args...)...)
	if code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return firefoxprofile.Read(t, text), stderr
}

// moment is a sample: its time in nanoseconds, and the function in which it was taken if that is known.
type moment struct {
	Time     uint64
	Function string
}

// momentsOfScript returns the samples of an event in perf script's text, by "PID/TID".
func momentsOfScript(t *testing.T, path, event string) map[string][]moment {
	t.Helper()
	head := regexp.MustCompile(`^\s*(-?\d+/-?\d+)\s+(\d+)\.(\d{9}):\s+(\S+?):\s*(?:[0-9a-f]+ (\S+))?`)
	leaf := regexp.MustCompile(`^\t\s*[0-9a-f]+ (\S+)`)
	all := make(map[string][]moment)
	var last *moment // lacks its function
	for line := range strings.Lines(perfrecord.Quietly(t, "script", "--no-inline", "--ns", "-F", "pid,tid,time,event,ip,sym", "-i", path)) {
		if m := leaf.FindStringSubmatch(line); m != nil && last != nil {
			last.Function, last = agreed(m[1]), nil
		}
		m := head.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		last = nil
		if m[4] != event {
			continue
		}
		seconds, _ := strconv.ParseUint(m[2], 10, 64)
		nanoseconds, _ := strconv.ParseUint(m[3], 10, 64)
		all[m[1]] = append(all[m[1]], moment{seconds*1e9 + nanoseconds, agreed(m[5])})
		if m[5] == "" {
			last = &all[m[1]][len(all[m[1]])-1]
		}
	}
	return all
}

// agreed returns a function's name if all symbol tables agree on it.
func agreed(name string) string {
	if !knownFunction.MatchString(name) && name != "known_work" {
		return ""
	}
	return name
}

// momentsOf returns the samples of a Firefox profile's call tree. Times are those of the recording.
func momentsOf(t *testing.T, p *firefoxprofile.Profile) map[string][]moment {
	t.Helper()
	start := startOf(t, p)
	all := make(map[string][]moment)
	for i := range p.Threads {
		th := &p.Threads[i]
		for n, stack := range th.Samples.Stack {
			m := moment{Time: start + nanoseconds(t, string(th.Samples.Time[n]))}
			if names := p.Stack(stack); len(names) > 0 {
				m.Function = agreed(names[len(names)-1])
			}
			all[key(th)] = append(all[key(th)], m)
		}
	}
	for _, list := range all { // of several threads with the same number
		slices.SortStableFunc(list, func(a, b moment) int { return cmp.Compare(a.Time, b.Time) })
	}
	return all
}

// key returns the number of a thread. ".1" and so on follow the numbers of later threads.
func key(th *firefoxprofile.Thread) string {
	pid, _, _ := strings.Cut(th.PID, ".")
	tid, _, _ := strings.Cut(th.TID, ".")
	return pid + "/" + tid
}

// startOf returns when a profile starts, on the recording's clock.
func startOf(t *testing.T, p *firefoxprofile.Profile) uint64 {
	t.Helper()
	for _, entry := range p.Meta.Extra[0].Entries {
		if strings.HasPrefix(entry.Label, "Start, ") {
			n, err := strconv.ParseUint(strings.Replace(entry.Value, ".", "", 1), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("the profile does not say when it starts")
	return 0
}

// nanoseconds converts milliseconds with up to six decimals.
func nanoseconds(t *testing.T, text string) uint64 {
	t.Helper()
	whole, rest, _ := strings.Cut(text, ".")
	n, err := strconv.ParseUint(whole+rest+strings.Repeat("0", 6-len(rest)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestPeerAFirefoxProfileHasTheThreadsAndTimesOfPerf(t *testing.T) {
	program := knownStacks(t)
	for _, mode := range []perfrecord.Mode{
		{Name: "no callchains", Args: "-e cpu-clock -F 999"},
		{Name: "callchains", Args: "-e cpu-clock -F 999 -g -a"},
		{Name: "stacks", Args: "-e cpu-clock -F 999 --call-graph dwarf"},
		{Name: "to a pipe", Args: "-e cpu-clock -F 999 -g", Pipe: true},
		{Name: "two events", Args: "-e page-faults -e task-clock -c 500000 -g"},
		{Name: "tracepoints", Args: "-e cpu-clock/freq=999/ -e sched:sched_switch -a -g"},
		{Name: "threads", Args: "-e cpu-clock -F 999 -a -g --threads"},
	} {
		t.Run(mode.Name, func(t *testing.T) {
			path := perfrecord.Record(t, mode, program)
			event := ""
			for _, name := range eventsOf(t, path) {
				if strings.Contains(name, "clock") {
					event = name
				}
			}
			p, _ := firefoxOf(t, path)
			want := momentsOfScript(t, path, event)
			if diff := gocmp.Diff(want, momentsOf(t, p)); diff != "" {
				t.Errorf("%s (-perf +ringtap):\n%.4000s", event, diff)
			}
			if len(slices.Concat(slices.Collect(maps.Values(want))...)) < 100 {
				t.Errorf("perf has only %v", want)
			}
		})
	}
}

func TestPeerAFirefoxProfileOfRecordHasTheTimesOfPerf(t *testing.T) {
	perfrecord.Need(t)
	path := filepath.Join(t.TempDir(), "perf.data")
	recordedWith(t, path, "-F 999 -a", knownStacks(t))
	p, _ := firefoxOf(t, path)
	if diff := gocmp.Diff(momentsOfScript(t, path, eventsOf(t, path)[0]), momentsOf(t, p)); diff != "" {
		t.Errorf("(-perf +ringtap):\n%.4000s", diff)
	}
	only, _ := firefoxOf(t, path, "--pid", "0")
	for i := range only.Threads {
		if pid := only.Threads[i].PID; pid != "0" {
			t.Errorf("--pid 0 shows a thread of %s", pid)
		}
	}
}

// off is a wait: from and to in nanoseconds, and its reason.
type off struct {
	From, To uint64
	Reason   string
}

// waitsOf returns the waits of a program's threads whose ends are recorded.
func waitsOf(t *testing.T, p *firefoxprofile.Profile, program string) map[string][]off {
	t.Helper()
	start := startOf(t, p)
	at := func(ms float64) uint64 { return start + uint64(math.Round(ms*1e6)) }
	all := make(map[string][]off)
	for i := range p.Threads {
		th := &p.Threads[i]
		for n, data := range th.Markers.Data {
			if th.ProcessName == program && data.Type == "wait" && data.End == "" {
				all[key(th)] = append(all[key(th)], off{at(th.Markers.StartTime[n]), at(*th.Markers.EndTime[n]), data.Reason})
			}
		}
	}
	return all
}

// switchesOf returns the waits of threads by perf script's lines, in which leaves and returns match when a
// thread leaves its CPU, and why, and when it returns.
func switchesOf(t *testing.T, text string, leaves, returns *regexp.Regexp, reasons map[string]string) map[string][]off {
	t.Helper()
	left := make(map[string]*off)
	all := make(map[string][]off)
	threads := make(map[string]string) // by TID
	stamp := regexp.MustCompile(`^\s*(-?\d+)/(-?\d+)\s+(\d+)\.(\d{9}):`)
	for line := range strings.Lines(text) {
		m := stamp.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		now, err := strconv.ParseUint(m[3]+m[4], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if back := returns.FindStringSubmatch(line); back != nil {
			tid := m[2]
			if len(back) > 1 {
				tid = back[1]
			}
			if w := left[tid]; w != nil {
				w.To = now
				all[threads[tid]] = append(all[threads[tid]], *w)
				delete(left, tid)
			}
		}
		delete(left, m[2]) // it runs; waits without an end are not compared
		if why := leaves.FindStringSubmatch(line); why != nil {
			reason, known := reasons[strings.TrimSpace(why[1])]
			if known {
				left[m[2]], threads[m[2]] = &off{From: now, Reason: reason}, m[1]+"/"+m[2]
			}
		}
	}
	return all
}

func TestPeerAFirefoxProfileHasTheWaitsOfPerf(t *testing.T) {
	program := compiled.Program(t, compiled.Sources(t, "testdata/known_waits.c"), "gcc", "-O1", "-fno-omit-frame-pointer", "-pthread", "-o", "known_waits", "known_waits.c")
	letters := map[string]string{"R": "preempted (R)", "R+": "preempted (R)", "S": "sleeping (S)", "D": "uninterruptible (D)", "I": "idle (I)", "T": "stopped (T)", "t": "traced (t)"}
	for _, tt := range []struct {
		mode            perfrecord.Mode
		script          string // arguments
		leaves, returns string
		reasons         map[string]string
		slept           string // the reason of the known waits
	}{
		{perfrecord.Mode{Name: "tracepoint", Args: "-e sched:sched_switch -e cpu-clock/freq=999/ -a -g"}, "-F pid,tid,time,event,trace",
			`sched_switch: .* prev_state=(\S+) ==>`, `sched_switch: .* next_pid=(\d+)`, letters, "sleeping (S)"},
		{perfrecord.Mode{Name: "switch records", Args: "-e cpu-clock -F 999 -a -g --switch-events"}, "--show-switch-events -F pid,tid,time,event",
			`SWITCH_CPU_WIDE OUT (preempt|       )`, `SWITCH_CPU_WIDE IN`, map[string]string{"": "blocked", "preempt": "preempted (R)"}, "blocked"},
		{perfrecord.Mode{Name: "a process's switch records", Args: "-e cpu-clock -F 999 --switch-events"}, "--show-switch-events -F pid,tid,time,event",
			`RECORD_SWITCH OUT ?(preempt|)`, `RECORD_SWITCH IN`, map[string]string{"": "blocked", "preempt": "preempted (R)"}, "blocked"},
	} {
		t.Run(tt.mode.Name, func(t *testing.T) {
			path := perfrecord.Record(t, tt.mode, program)
			p, _ := firefoxOf(t, path)
			text := perfrecord.Run(t, append(strings.Fields("script --ns "+tt.script), "-i", path)...)
			all := switchesOf(t, text, regexp.MustCompile(tt.leaves), regexp.MustCompile(tt.returns), tt.reasons)
			got := waitsOf(t, p, "known_waits")
			want := make(map[string][]off)
			for thread := range got {
				want[thread] = all[thread]
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("(-perf +ringtap):\n%.4000s", diff)
			}
			// The kernel starts the timer of 20 ms before the thread leaves its CPU. If an interrupt comes in
			// between, the wait is shorter. Nothing else makes the thread wait for long.
			const long = 10
			slept := 0
			for i := range p.Threads {
				th := &p.Threads[i]
				for n, data := range th.Markers.Data {
					if th.ProcessName == "known_waits" && th.IsMainThread && data.Type == "wait" && data.Reason == tt.slept && *th.Markers.EndTime[n]-th.Markers.StartTime[n] >= long {
						slept++
					}
				}
			}
			if slept < 20 || slept > 21 { // the last may be for the thread
				t.Errorf("the program slept %d times for 20 ms, want 20", slept)
			}
		})
	}
}
