package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profile/timeline"
	"github.com/ringtap/ringtap/internal/testkit/firefoxprofile"
)

// times returns a timeline of a profile with the rows of sample. It has two threads of worker, one of a
// later process with the same PID, and the idle task; and two events, without sched:sched_switch.
func times(p *profile.Profile) *timeline.Timeline {
	p.Metrics = append(p.Metrics, profile.Metric{Name: "page-faults", Type: "faults", Unit: "counts", Scale: 1})
	p.Metrics[0].Scale = 1
	for i := range p.Rows {
		p.Rows[i].Values = append(p.Rows[i].Values, 1)
	}
	const start = 5_000_000_000
	return &timeline.Timeline{
		Profile: p, Begin: start, End: start + 10_000_000, Start: time.UnixMilli(1_700_000_000_123),
		Events:    []timeline.Event{{Interval: time.Millisecond}, {}},
		Processes: []timeline.Process{{PID: 4242, Name: "worker"}, {PID: 0, Name: "swapper"}, {PID: 4242, Name: "worker"}},
		Threads: []timeline.Thread{
			{Process: 0, TID: 4242, Name: "worker", Start: 1, Samples: []timeline.Sample{
				{Time: start, Weight: 1_000_000, Row: 0, CPU: 1},
				{Time: start + 1_000_001, Weight: 1_000_001, Row: 1, CPU: timeline.NoCPU},
				{Time: start + 2_500_000, Weight: 2, Row: 0, CPU: 3, Metric: 1},
				{Time: start + 9_000_000, Weight: 500_000, Row: profile.None, CPU: 1},
			}, Waits: []timeline.Wait{
				{From: start + 1_500_000, To: start + 2_000_000, Row: 1, Reason: timeline.Preempted},
				{From: start + 3_000_000, To: start + 8_000_000, Row: profile.None, Reason: timeline.Uninterruptible},
				{From: start + 9_500_000, To: start + 10_000_000, Row: 0, Reason: timeline.Sleeping, NoEnd: true},
			}},
			{Process: 0, TID: 4243, Name: "w/2", Start: start + 3_000_000, End: start + 7_000_000, Samples: []timeline.Sample{
				{Time: start + 4_000_000, Weight: 1_000_000, Row: 4},
				{Time: start + 6_000_000, Weight: 1_000_000, Row: 5},
			}},
			{Process: 1, TID: 0, Name: "swapper", Samples: []timeline.Sample{{Time: start, Weight: 1_000_000, Row: 3}}},
			{Process: 2, TID: 4242, Name: "worker", Waits: []timeline.Wait{{From: start + 8_000_000, To: start + 9_000_000, Row: profile.None}}},
			{Process: 2, TID: 4244, Name: "nothing"},
		},
	}
}

func firefoxOf(t *testing.T, p *profile.Profile, opts FileOptions) *firefoxprofile.Profile {
	t.Helper()
	if opts.Timeline == nil {
		opts.Timeline = times(p)
	}
	var text bytes.Buffer
	if err := writeFirefox(&text, p, opts); err != nil {
		t.Fatal(err)
	}
	checkVisible(t, text.String(), "\n")
	return firefoxprofile.Read(t, text.Bytes())
}

func TestFirefoxHasATrackForEachThread(t *testing.T) {
	p := firefoxOf(t, sample(), FileOptions{})
	type track struct {
		Process, Name, PID, TID string
		Main                    bool
		Start                   float64
		End                     *float64
	}
	end := 7.0
	want := []track{
		{"worker", "worker", "4242", "4242", true, 0, nil},
		{"worker", "w/2", "4242", "4243", false, 3, &end},
		{"swapper", "swapper", "0", "0", true, 0, nil},
		{"worker", "worker", "4242.1", "4242.1", true, 0, nil}, // another process with the same number
	}
	var got []track
	for _, th := range p.Threads {
		got = append(got, track{th.ProcessName, th.Name, th.PID, th.TID, th.IsMainThread, th.RegisterTime, th.UnregisterTime})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if p.Meta.StartTime != 1_700_000_000_123 || p.Meta.ProfilingEndTime != 10 || p.Meta.Interval != 1 {
		t.Errorf("starts at %f, ends after %v ms, a sample each %v ms", p.Meta.StartTime, p.Meta.ProfilingEndTime, p.Meta.Interval)
	}
}

func TestFirefoxSamplesHaveTheirTimesStacksAndWeights(t *testing.T) {
	p := firefoxOf(t, sample(), FileOptions{})
	s := p.Threads[0].Samples
	if diff := cmp.Diff([]json.Number{"0", "1.000001", "9"}, s.Time); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{1, 1.000001, 0.5}, s.Weight); s.WeightType != "tracing-ms" || diff != "" {
		t.Errorf("weights in %s (-want +got):\n%s", s.WeightType, diff)
	}
	want := []string{"_start;main;ns::work(int)", "_start;main;do_syscall_64;vfs_read", ""}
	for i, stack := range s.Stack {
		if got := strings.Join(p.Stack(stack), ";"); got != want[i] {
			t.Errorf("sample %d is in %q, want %q", i, got, want[i])
		}
	}
	categories := map[string]string{"main": "User", "vfs_read": "Kernel", truncatedName: "Other"}
	functions := p.Shared.FuncTable
	for frame, category := range p.Shared.FrameTable.Category {
		name := p.Shared.StringArray[functions.Name[p.Shared.FrameTable.Func[frame]]]
		if want := categories[name]; want != "" && p.Meta.Categories[*category].Name != want {
			t.Errorf("%s is %s, want %s", name, p.Meta.Categories[*category].Name, want)
		}
	}
}

// The CPU time is what is not waited. Without waits it is the sample's own.
func TestFirefoxCPUTimes(t *testing.T) {
	p := firefoxOf(t, sample(), FileOptions{})
	for i, want := range [][]float64{
		{0, 1_000_001, 9_000_000 - 1_000_001 - 5_000_000 - 500_000},
		{1_000_000, 1_000_000},
		{0},
		nil, // with an empty column, the Profiler would never finish
	} {
		if diff := cmp.Diff(want, p.Threads[i].Samples.ThreadCPUDelta); diff != "" {
			t.Errorf("thread %d (-want +got):\n%s", i, diff)
		}
	}
	spanned := sample()
	line := times(spanned)
	line.Threads[1].Waits = []timeline.Wait{{From: line.Begin + 3_500_000, To: line.Begin + 4_750_000}}
	p = firefoxOf(t, spanned, FileOptions{Timeline: line})
	if diff := cmp.Diff([]float64{0, 2_000_000 - 750_000}, p.Threads[1].Samples.ThreadCPUDelta); diff != "" {
		t.Errorf("with a sample in a wait (-want +got):\n%s", diff)
	}
	unsure := sample()
	line = times(unsure)
	line.Threads[0].Waits[0].NoEnd = true // the wait was perhaps shorter
	p = firefoxOf(t, unsure, FileOptions{Timeline: line})
	if diff := cmp.Diff([]float64{1_000_000, 1_000_001, 500_000}, p.Threads[0].Samples.ThreadCPUDelta); diff != "" {
		t.Errorf("without exact waits (-want +got):\n%s", diff)
	}
}

func TestFirefoxMarkersAreWaitsAndOtherEvents(t *testing.T) {
	p := firefoxOf(t, sample(), FileOptions{})
	m := p.Threads[0].Markers
	var got []string
	for i, data := range m.Data {
		line := []string{p.Shared.StringArray[m.Name[i]], data.Reason, "", ""}
		if data.End != "" {
			line[1] += " until " + data.End[:len("not recorded")]
		}
		if data.Cause != nil {
			line[2] = strings.Join(p.Stack(data.Cause.Stack), ";")
		}
		line[3] = p.Meta.Categories[m.Category[i]].Name
		got = append(got, strings.Join(line, ", "))
	}
	want := []string{
		"preempted, preempted (R), _start;main;do_syscall_64;vfs_read, Off CPU",
		"page-faults, , _start;main;ns::work(int), Other",
		"blocked, uninterruptible (D), , Off CPU",
		"blocked, sleeping (S) until not recorded, _start;main;ns::work(int), Off CPU",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{1.5, 2.5, 3, 9.5}, m.StartTime); diff != "" || *m.EndTime[2] != 8 {
		t.Errorf("the third ends at %v; starts (-want +got):\n%s", *m.EndTime[2], diff)
	}
	if fault := m.Data[1]; *fault.Count != 2 || *fault.CPU != 3 {
		t.Errorf("the page fault is %v", fault)
	}
}

func TestFirefoxShowsTheChosenEvent(t *testing.T) {
	s := sample()
	line := times(s)
	p := firefoxOf(t, s, FileOptions{Metric: "page-faults", Timeline: line})
	th := p.Threads[0]
	if th.Samples.WeightType != "samples" || th.Samples.Length != 1 || th.Samples.Weight[0] != 2 || th.Markers.Length != 3+3 {
		t.Errorf("the samples are %v, with %d markers", th.Samples, th.Markers.Length)
	}
	line.Events[0].Switches = true // they are the waits already
	p = firefoxOf(t, s, FileOptions{Metric: "page-faults", Timeline: line})
	if n := p.Threads[0].Markers.Length; n != 3 {
		t.Errorf("%d markers, want the waits only", n)
	}
	line.Events[0], line.Events[1] = line.Events[1], line.Events[0]
	p = firefoxOf(t, s, FileOptions{Timeline: line})
	if got := p.Meta.Extra[0].Entries[0].Value; got != "page-faults" {
		t.Errorf("without a choice, the event is %s and not the regular one", got)
	}
}

func TestFirefoxFunctionsHaveTheirSources(t *testing.T) {
	for _, inlines := range []bool{false, true} {
		p := firefoxOf(t, sample(), FileOptions{Inlines: inlines})
		f, got := &p.Shared.FuncTable, map[string]string{}
		for i, source := range f.Source {
			if source != nil {
				got[p.Shared.StringArray[f.Name[i]]] = p.Shared.StringArray[p.Shared.Sources.Filename[*source]]
			}
		}
		want := map[string]string{"main": "/src/worker.c", "ns::work(int)": "/src/work.cc"}
		if inlines {
			want["square"] = "/src/math.h"
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("inlines %t (-want +got):\n%s", inlines, diff)
		}
		if p.Libs[0].Path != "/usr/bin/worker" || p.Libs[0].CodeID != "0123456789abcdef" {
			t.Errorf("the first library is %v", p.Libs[0])
		}
	}
}

func TestFirefoxCarriesNoHostileText(t *testing.T) {
	s := hostile()
	line := times(s)
	for i := range line.Processes {
		line.Processes[i].Name = evil
	}
	for i := range line.Threads {
		line.Threads[i].Name = evil
	}
	p := firefoxOf(t, s, FileOptions{Inlines: true, Timeline: line})
	for _, text := range append(p.Shared.StringArray, p.Threads[0].Name, p.Threads[0].ProcessName, p.Libs[0].Path) {
		checkVisible(t, text, "")
	}
}

func TestFirefoxOfNothingIsValid(t *testing.T) {
	s := sample()
	s.Objects, s.Frames, s.Stacks, s.Processes, s.Rows = nil, nil, nil, nil, nil
	line := &timeline.Timeline{Profile: s, Events: []timeline.Event{{}}}
	if p := firefoxOf(t, s, FileOptions{Timeline: line}); len(p.Threads) != 0 {
		t.Errorf("%d threads", len(p.Threads))
	}
}

func TestFirefoxRefusesInvalidIndexes(t *testing.T) {
	for name, spoil := range map[string]func(*timeline.Timeline){
		"a process": func(line *timeline.Timeline) { line.Threads[1].Process = 3 },
		"a metric":  func(line *timeline.Timeline) { line.Threads[1].Samples[0].Metric = 2 },
		"an event":  func(line *timeline.Timeline) { line.Events = line.Events[:1] },
	} {
		p := sample()
		line := times(p)
		spoil(line)
		if err := writeFirefox(&bytes.Buffer{}, p, FileOptions{Timeline: line}); err == nil {
			t.Errorf("%s that is not there is no error", name)
		}
	}
}

func TestFirefoxNeedsTimes(t *testing.T) {
	if err := writeFirefox(&bytes.Buffer{}, sample(), FileOptions{}); !errors.Is(err, errNoTimes) {
		t.Errorf("error %v", err)
	}
}
