package table

import (
	"slices"
	"testing"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
	"github.com/ringtap/ringtap/perfevent"
)

const second = uint64(1e9)

// counting counts samples, but those of the idle task.
type counting struct {
	stacks  stack.Stacks
	ordered bool
}

func (c *counting) Plan() Plan {
	sampling := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: 99}
	c.stacks.Prepare(&sampling)
	return Plan{Samplings: []perfevent.Sampling{sampling}, Stacks: c.stacks, Ordered: c.ordered, Metrics: []profile.Metric{{Name: "Count"}}}
}

func (c *counting) Fallback(error) (string, bool)               { return "", false }
func (c *counting) Skip(s *perfevent.Sample) bool               { return s.PID == 0 }
func (c *counting) Fold(rows *Rows, _ int, s *perfevent.Sample) { rows.Add(rows.Of(s), 0, 1) }

// record runs samples through a recorder of kernel stacks and returns its
// windows and the one of the whole run.
func record(t *testing.T, opts Options, end uint64, samples ...*perfevent.Sample) ([]*Window, *Window) {
	t.Helper()
	var windows []*Window
	opts.Emit = func(w *Window) { windows = append(windows, w) }
	r := recorder(t, opts)
	for _, s := range samples {
		tabletest.Handle(t, r, s)
	}
	whole := r.Finish(end)
	return windows, whole
}

// recorder makes a recorder of kernel stacks, of a run that begins at 0.
func recorder(t *testing.T, opts Options) *Recorder {
	t.Helper()
	processes := process.NewTable(process.Options{Host: process.Host{Proc: t.TempDir()}})
	t.Cleanup(processes.Close)
	if opts.Memory == 0 {
		opts.Memory = 1 << 20
	}
	return NewRecorder([]Collector{&counting{stacks: stack.Stacks{Kernel: true}}}, processes, 0, opts)
}

// sum adds up all counts of a window.
func sum(w *Window) (total uint64) {
	for _, row := range w.Rows {
		total += row.Values[0]
	}
	return total
}

func TestASampleBelongsToTheWindowOfItsTime(t *testing.T) {
	windows, whole := record(t, Options{Interval: second, Whole: true}, 3*second,
		tabletest.Hit(1, 0, 10), tabletest.Hit(1, second-1, 10), tabletest.Hit(1, second, 10), tabletest.Hit(1, 3*second-1, 10))
	var got []uint64
	for i, w := range windows {
		if w.Start != uint64(i)*second || w.End != uint64(i+1)*second {
			t.Errorf("window %d is from %d to %d", i, w.Start, w.End)
		}
		got = append(got, sum(w))
	}
	if want := []uint64{2, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("windows hold %v samples, want %v", got, want)
	}
	if sum(whole) != 4 || whole.Start != 0 || whole.End != 3*second {
		t.Errorf("the whole run holds %d samples from %d to %d", sum(whole), whole.Start, whole.End)
	}
}

func TestAShortEmptyRestIsNoWindowOfItsOwn(t *testing.T) {
	for _, test := range []struct {
		end     uint64
		windows int
	}{
		{second, 1},
		{second + second/100, 1},
		{second + second/2, 2},
	} {
		windows, _ := record(t, Options{Interval: second}, test.end, tabletest.Hit(1, 5, 10))
		if len(windows) != test.windows {
			t.Errorf("a run of %d ns has %d windows, want %d", test.end, len(windows), test.windows)
		}
	}
}

func TestSamplesAfterTheEndOfTheRunDoNotCount(t *testing.T) {
	windows, whole := record(t, Options{Interval: second, Whole: true, End: 2 * second}, 5*second,
		tabletest.Hit(1, 1, 10), tabletest.Hit(1, 2*second-1, 10), tabletest.Hit(1, 2*second, 10), tabletest.Hit(1, 4*second, 10))
	if len(windows) != 2 || sum(whole) != 2 || whole.End != 2*second {
		t.Errorf("%d windows, %d samples to %d; want 2, 2 to %d", len(windows), sum(whole), whole.End, 2*second)
	}
}

func TestTheSameStackOfTwoProcessesIsTwoRows(t *testing.T) {
	_, whole := record(t, Options{Whole: true}, second, tabletest.Hit(1, 1, 10, 20), tabletest.Hit(2, 2, 10, 20), tabletest.Hit(2, 3, 10, 20))
	if len(whole.Rows) != 2 || len(whole.Stacks) != 1 || len(whole.Processes) != 2 {
		t.Errorf("%d rows, %d stacks, %d processes; want 2, 1, 2", len(whole.Rows), len(whole.Stacks), len(whole.Processes))
	}
}

func TestRingtapItselfAndTheIdleTaskAreLeftOut(t *testing.T) {
	_, whole := record(t, Options{Whole: true, Self: 7}, second, tabletest.Hit(7, 1, 10), tabletest.Hit(0, 2, 10), tabletest.Hit(8, 3, 10))
	if sum(whole) != 1 || whole.Processes[0].PID != 8 {
		t.Errorf("%d samples of %v; want one of 8", sum(whole), whole.Processes)
	}
}

func TestPastTheMemoryBoundEverySampleIsStillCounted(t *testing.T) {
	const n = 20000
	known := tabletest.Hit(1, 1, 1)
	samples := []*perfevent.Sample{known}
	for i := range uint64(n) {
		samples = append(samples, tabletest.Hit(1, 1, 1000+i, 5000+i))
	}
	samples = append(samples, known)
	_, whole := record(t, Options{Whole: true, Memory: 1 << 17}, second, samples...)
	if sum(whole) != n+2 {
		t.Errorf("%d samples counted, want %d", sum(whole), n+2)
	}
	if len(whole.Rows) > n/4 || whole.Counts[0].Unkept < n/2 {
		t.Errorf("%d rows, %d samples not kept: the bound does nothing", len(whole.Rows), whole.Counts[0].Unkept)
	}
	for _, row := range whole.Rows {
		if row.Kernel >= 0 && len(whole.Stacks[row.Kernel].Frames) == 1 && row.Values[0] != 2 {
			t.Errorf("a stack that was known before the bound has %d samples, want 2", row.Values[0])
		}
	}
}

func TestPastTheMemoryBoundALaterWindowStillHasTheRowsThatAreKnown(t *testing.T) {
	known := func(time uint64) *perfevent.Sample { return tabletest.Hit(1, time, 1) }
	samples := []*perfevent.Sample{known(1)}
	for i := range uint64(5000) {
		samples = append(samples, tabletest.Hit(1, 1, 1000+i, 5000+i))
	}
	samples = append(samples, known(second+1), known(second+2))
	windows, _ := record(t, Options{Interval: second, Whole: true, Memory: 1 << 17}, 2*second, samples...)
	if windows[0].Counts[0].Unkept == 0 {
		t.Fatal("the bound was not reached")
	}
	last := windows[1]
	if len(last.Rows) != 1 || last.Counts[0].Unkept != 0 || last.Rows[0].Values[0] != 2 {
		t.Errorf("the next window has rows %v, %d samples not kept; want two samples of the known row", last.Rows, last.Counts[0].Unkept)
	}
}

func TestAWindowGoesOnWhileNobodyTakesIt(t *testing.T) {
	ready := true
	var windows []*Window
	r := recorder(t, Options{
		Interval: second,
		Emit:     func(w *Window) { windows = append(windows, w) },
		Ready:    func() bool { return ready },
	})
	tabletest.Handle(t, r, tabletest.Hit(1, 0, 10))
	ready = false
	tabletest.Handle(t, r, tabletest.Hit(1, second, 10))
	ready = true // too late for the window that was to end at one second
	tabletest.Handle(t, r, tabletest.Hit(1, second+1, 10))
	tabletest.Handle(t, r, tabletest.Hit(1, 2*second, 10))
	ready = false
	r.Finish(2*second + second/2) // is the last chance to take one
	if len(windows) != 2 {
		t.Fatalf("%d windows, want 2", len(windows))
	}
	for i, want := range []struct{ start, end, samples uint64 }{{0, 2 * second, 3}, {2 * second, 2*second + second/2, 1}} {
		if w := windows[i]; w.Start != want.start || w.End != want.end || sum(w) != want.samples {
			t.Errorf("window %d: %d samples from %d to %d, want %+v", i, sum(w), w.Start, w.End, want)
		}
	}
}

func TestTheCountsOfARunHaveWhatCameAfterItsLastWindow(t *testing.T) {
	r := recorder(t, Options{Interval: second, End: second, Whole: true, Self: 7, Emit: func(*Window) {}})
	tabletest.Handle(t, r, tabletest.Hit(1, 1, 10))
	tabletest.Handle(t, r, tabletest.Hit(7, 2, 10))
	tabletest.Handle(t, r, tabletest.Hit(1, second, 10))
	tabletest.Handle(t, r, &perfevent.Lost{Header: perfevent.Header{Time: second + 1}, Lost: 5})
	whole := r.Finish(2 * second)
	want := Counts{Samples: 1, LeftOut: 2, Lost: 5}
	if got := r.Counts(); got[0] != want {
		t.Errorf("counts of the run = %+v, want %+v", got, want)
	}
	if whole.Counts[0] != want {
		t.Errorf("counts of the whole run's window = %+v, want %+v", whole.Counts, want)
	}
}
