package recorded

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/engine/recording"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profile/timeline"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
	"github.com/ringtap/ringtap/perfevent"
)

// The events of run: a clock and sched:sched_switch, whose samples tabletest.Raw(prev_state, next_pid)
// makes.
const (
	clock = iota
	schedSwitch
)

const switchFormat = `name: sched_switch
ID: 372
format:
	field:long prev_state;	offset:0;	size:8;	signed:1;
	field:long next_pid;	offset:8;	size:8;	signed:1;

print fmt: "%d", REC->next_pid
`

// events returns the events. Every period-th switch is recorded.
func events(period uint64) []perfdata.Event {
	const sampled = unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_CPU | unix.PERF_SAMPLE_CALLCHAIN
	all := make([]perfdata.Event, 2)
	all[clock].Attr = unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Sample: 1000, Bits: unix.PerfBitFreq, Sample_type: sampled}
	all[schedSwitch].Attr = unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: 372, Sample: period, Sample_type: sampled | unix.PERF_SAMPLE_RAW}
	return all
}

// run returns the timeline of records, and its notes. Samples that keep does not keep are left out, as a
// recording.Source leaves them out. Records are names of threads before the first one.
func run(t *testing.T, events []perfdata.Event, keep recording.Keep, memory int, records ...perfevent.Record) (*timeline.Timeline, []string) {
	t.Helper()
	processes := process.NewTable(process.Options{Host: process.Host{Proc: t.TempDir()}})
	t.Cleanup(processes.Close)
	names := process.NewNames(processes.Host())
	times, err := NewTimes(events, []perfdata.EventFormat{{System: "sched", Text: []byte(switchFormat)}}, keep)
	if err != nil {
		t.Fatal(err)
	}
	var collectors []table.Collector
	for i := range events {
		collectors = append(collectors, &Collector{Event: &events[i], Stacks: stack.Stacks{Kernel: true}, Times: times, Number: i})
	}
	var window *table.Window
	r := table.NewRecorder(collectors, processes, 0, table.Options{Memory: memory, Names: names, Self: 1 << 31, Emit: func(w *table.Window) { window = w }})
	var last uint64
	for _, record := range records {
		h := record.Common()
		last = h.Time
		sample, ok := record.(*perfevent.Sample)
		if kept := keep.AtAnyTime(h) && h.Time >= keep.From && (keep.To == 0 || h.Time < keep.To); ok && !kept {
			times.LeftOut(sample)
			continue
		}
		names.Handle(record)
		tabletest.Handle(t, r, record)
	}
	r.Finish(last)
	return times.Timeline(&profile.Profile{Rows: window.Rows}), window.Notes
}

const enough = 1 << 20

// tick is a sample of the clock.
func tick(pid, tid uint32, at uint64, chain ...uint64) *perfevent.Sample {
	s := tabletest.Hit(pid, at, chain...)
	s.TID, s.CPU, s.Period = tid, tid%2, 7
	return s
}

// away is a sample of sched:sched_switch.
func away(pid, tid uint32, at uint64, state, next uint64) *perfevent.Sample {
	s := tick(pid, tid, at, 99)
	s.Sampling, s.Raw, s.Period = schedSwitch, tabletest.Raw(state, next), 1
	return s
}

func header(pid, tid uint32, at uint64) perfevent.Header {
	return perfevent.Header{PID: pid, TID: tid, Time: at}
}

func comm(pid, tid uint32, at uint64, name string) *perfevent.Comm {
	return &perfevent.Comm{Header: header(pid, tid, at), PID: pid, TID: tid, Name: []byte(name)}
}

func TestTimesAreByThread(t *testing.T) {
	line, _ := run(t, events(1), recording.Keep{}, enough,
		comm(10, 10, 0, "sh"), tick(10, 10, 100, 1, 2), comm(10, 10, 110, "server"),
		&perfevent.Fork{Header: header(10, 10, 120), PID: 10, TID: 11, PPID: 10, PTID: 10},
		tick(10, 11, 130, 1, 2), comm(10, 11, 140, "worker"), tick(10, 10, 150, 3),
		tick(10, 11, 145, 3), // late
		&perfevent.Exit{Header: header(10, 11, 160), PID: 10, TID: 11},
		&perfevent.Fork{Header: header(10, 10, 170), PID: 11, TID: 11, PPID: 10, PTID: 10}, // the same number again
		tick(11, 11, 180, 1, 2), tick(12, 12, 190))
	if diff := cmp.Diff([]timeline.Process{{PID: 10, Name: "server"}, {PID: 11, Name: "server"}, {PID: 12, Name: ":12"}}, line.Processes); diff != "" {
		t.Errorf("processes (-want +got):\n%s", diff)
	}
	row := func(thread, sample int) profile.Row {
		return line.Profile.Rows[line.Threads[thread].Samples[sample].Row]
	}
	if row(0, 0).Kernel != row(3-1, 0).Kernel || row(0, 0).Kernel == row(0, 1).Kernel || row(1, 0).Kernel != row(0, 0).Kernel {
		t.Errorf("the samples do not have the rows of their stacks: %v", line)
	}
	for i := range line.Threads {
		for n := range line.Threads[i].Samples {
			line.Threads[i].Samples[n].Row = 0
		}
	}
	want := []timeline.Thread{
		{Process: 0, TID: 10, Name: "server", Samples: []timeline.Sample{{Time: 100, Weight: 7}, {Time: 150, Weight: 7}}},
		{Process: 0, TID: 11, Name: "worker", Start: 120, End: 160, Samples: []timeline.Sample{{Time: 130, Weight: 7, CPU: 1}, {Time: 145, Weight: 7, CPU: 1}}},
		{Process: 1, TID: 11, Name: "server", Start: 170, Samples: []timeline.Sample{{Time: 180, Weight: 7, CPU: 1}}},
		{Process: 2, TID: 12, Name: ":12", Samples: []timeline.Sample{{Time: 190, Weight: 7}}},
	}
	if diff := cmp.Diff(want, line.Threads); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
	if line.Begin != 100 || line.End != 190 {
		t.Errorf("from %d to %d", line.Begin, line.End)
	}
	if diff := cmp.Diff([]timeline.Event{{Interval: time.Millisecond}, {Switches: true}}, line.Events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// waitsOf returns the waits of the first thread, without their rows.
func waitsOf(line *timeline.Timeline) []timeline.Wait {
	waits := line.Threads[0].Waits
	for i := range waits {
		waits[i].Row = 0
	}
	return waits
}

func TestWaitsAreFromOneSwitchToTheNext(t *testing.T) {
	line, notes := run(t, events(1), recording.Keep{}, enough,
		away(10, 10, 100, 0x01, 20), away(20, 20, 200, 0, 10), // sleeps
		away(10, 10, 300, 0x02, 0), away(0, 0, 350, 0, 10), // waits for I/O; the idle task leaves
		away(10, 10, 400, 0x100, 20), away(20, 20, 500, 0x10, 10), // preempted; the other one ends
		away(10, 10, 600, 0x80, 0), tick(10, 10, 700), // nobody saw when it returned
		away(10, 10, 800, 0x04, 0), tick(30, 30, 900)) // stopped until the end
	want := []timeline.Wait{
		{From: 100, To: 200, Reason: timeline.Sleeping},
		{From: 300, To: 350, Reason: timeline.Uninterruptible},
		{From: 400, To: 500, Reason: timeline.Preempted},
		{From: 600, To: 700, Reason: timeline.Idle, NoEnd: true},
		{From: 800, To: 900, Reason: timeline.Stopped, NoEnd: true},
	}
	if diff := cmp.Diff(want, waitsOf(line)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for i := range line.Threads {
		if th := &line.Threads[i]; th.TID == 0 && th.Waits != nil || th.TID == 20 && len(th.Waits) != 1 {
			t.Errorf("thread %d has waits %v", th.TID, th.Waits)
		}
	}
	if len(notes) != 1 || notes[0][:35] != "the recording lacks the ends of 1 o" {
		t.Errorf("notes: %q", notes)
	}
}

func TestSwitchRecordsAreWaits(t *testing.T) {
	out := func(at uint64, preempt bool) *perfevent.Switch {
		return &perfevent.Switch{Header: header(10, 10, at), Out: true, Preempt: preempt}
	}
	in := func(at uint64) *perfevent.Switch { return &perfevent.Switch{Header: header(10, 10, at)} }
	line, notes := run(t, events(1), recording.Keep{}, enough,
		in(50), out(100, false), in(200), out(300, true), in(400),
		away(10, 10, 500, 0x01, 20), out(501, false), in(600), // both: the tracepoint says more
		&perfevent.Exit{Header: header(10, 10, 700), PID: 10, TID: 10}, out(701, true), in(702), out(703, false),
		tick(30, 30, 800))
	want := []timeline.Wait{
		{From: 100, To: 200, Reason: timeline.Blocked},
		{From: 300, To: 400, Reason: timeline.Preempted},
		{From: 500, To: 600, Reason: timeline.Sleeping},
		{From: 701, To: 702, Reason: timeline.Preempted}, // on its way out
	}
	if diff := cmp.Diff(want, waitsOf(line)); diff != "" || len(notes) > 0 {
		t.Errorf("notes %q, (-want +got):\n%s", notes, diff)
	}
}

// The switches of other threads, and at other times, say when a thread returns.
func TestWaitsOfSelectedSamples(t *testing.T) {
	records := []perfevent.Record{
		comm(10, 10, 0, "server"),
		away(10, 10, 100, 0x01, 20), away(20, 20, 200, 0x01, 10), tick(10, 10, 220),
		away(10, 10, 300, 0x02, 20), away(20, 20, 500, 0x01, 10),
	}
	for _, tt := range []struct {
		keep recording.Keep
		want []timeline.Wait
	}{
		{recording.Keep{PIDs: []int{10}}, []timeline.Wait{{From: 100, To: 200, Reason: timeline.Sleeping}, {From: 300, To: 500, Reason: timeline.Uninterruptible}}},
		{recording.Keep{PIDs: []int{10}, From: 150, To: 400}, []timeline.Wait{{From: 150, To: 200, Reason: timeline.Sleeping}, {From: 300, To: 400, Reason: timeline.Uninterruptible}}},
	} {
		line, _ := run(t, events(1), tt.keep, enough, records...)
		if diff := cmp.Diff(tt.want, waitsOf(line)); diff != "" || len(line.Threads) != 1 {
			t.Errorf("%v: %d threads, (-want +got):\n%s", tt.keep, len(line.Threads), diff)
		}
	}
}

func TestSomeSwitchesAreNoWaits(t *testing.T) {
	line, notes := run(t, events(2), recording.Keep{}, enough, away(10, 10, 100, 0x01, 20), away(20, 20, 200, 0, 10))
	if line.Events[schedSwitch].Switches || line.Threads[0].Waits != nil || len(notes) != 1 {
		t.Errorf("waits %v, notes %q", line.Threads[0].Waits, notes)
	}
}

func TestTimesStopWhenMemoryIsFull(t *testing.T) {
	var records []perfevent.Record
	for i := range 10_000 {
		records = append(records, tick(10, 10, uint64(i)))
	}
	line, notes := run(t, events(1), recording.Keep{}, 64<<10, records...)
	if n := len(line.Threads[0].Samples); n < 1000 || n > 64<<10/24 || len(notes) != 1 {
		t.Errorf("%d samples in 64 KiB, notes %q", n, notes)
	}
	if got := line.Profile.Rows[0].Values[clock]; got != 7*10_000 {
		t.Errorf("the sum is %d", got)
	}
}

func TestARecordingWithoutTimesHasNoTimeline(t *testing.T) {
	all := events(1)
	all[clock].Attr.Sample_type &^= unix.PERF_SAMPLE_TIME
	if _, err := NewTimes(all, nil, recording.Keep{}); err == nil {
		t.Error("no error")
	}
}

func TestIntervals(t *testing.T) {
	for _, tt := range []struct {
		attr unix.PerfEventAttr
		want time.Duration
	}{
		{unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_TASK_CLOCK, Sample: 500_000}, 500 * time.Microsecond},
		{unix.PerfEventAttr{Type: unix.PERF_TYPE_HARDWARE, Config: 4<<32 | unix.PERF_COUNT_HW_CPU_CYCLES, Sample: 4000, Bits: unix.PerfBitFreq}, 250 * time.Microsecond},
		{unix.PerfEventAttr{Type: unix.PERF_TYPE_HARDWARE, Config: unix.PERF_COUNT_HW_CPU_CYCLES, Sample: 1_000_000}, 0},
		{unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_PAGE_FAULTS, Sample: 4000, Bits: unix.PerfBitFreq}, 0},
		{unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Sample: ^uint64(0), Bits: unix.PerfBitFreq}, 1},
	} {
		e := &perfdata.Event{}
		e.Attr = tt.attr
		if got := interval(e); got != tt.want {
			t.Errorf("%+v: %v, want %v", tt.attr, got, tt.want)
		}
	}
}
