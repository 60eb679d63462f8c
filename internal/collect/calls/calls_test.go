package calls

import (
	"testing"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/probe/pair"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile/histogram"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
	"github.com/ringtap/ringtap/perfevent"
)

// callRecorder makes a recorder of the calls of one kernel function: source 0 is its
// entry, 1 its return.
func callRecorder(t *testing.T, opts table.Options) (*table.Recorder, *Calls) {
	t.Helper()
	c := NewCalls("f", []probe.Source{
		{Role: probe.Enter, Site: pair.Site{Kernel: true}},
		{Role: probe.Return, Site: pair.Site{Kernel: true, Return: true}},
	}, stack.Stacks{Kernel: true})
	scale := histogram.Log2()
	c.Histogram = &scale
	processes := process.NewTable(process.Options{Host: process.Host{Proc: t.TempDir()}})
	t.Cleanup(processes.Close)
	opts.Memory = 1 << 20
	return table.NewRecorder([]table.Collector{c}, processes, 0, opts), c
}

// called is a hit of the entry or of the return of a frame by thread 7 on a CPU.
func called(event int, slot, at uint64, cpu uint32) *perfevent.Sample {
	site := pair.Site{Kernel: true, Return: event == 1}
	var sampling perfevent.Sampling
	site.Prepare(&sampling)
	s := tabletest.Hit(7, at, slot) // each frame's call has a stack of its own
	s.CPU, s.Sampling = cpu, event
	s.IntrRegs = perfevent.Registers{ABI: stack.ABI64, Mask: sampling.IntrRegs, Values: []uint64{slot}}
	_, place := site.Place(s)
	s.IntrRegs.Values[0] += slot - place
	return s
}

func enter(slot, at uint64) *perfevent.Sample { return called(0, slot, at, 0) }
func leave(slot, at uint64) *perfevent.Sample { return called(1, slot, at, 0) }

// spent is the time and the calls of each stack of a window, by its leaf.
func spent(w *table.Window) map[uint64][2]uint64 {
	all := make(map[uint64][2]uint64)
	for _, row := range w.Rows {
		if row.Kernel >= 0 {
			all[w.Stacks[row.Kernel].Frames[0].Offset] = [2]uint64{row.Values[callTime], row.Values[callCount]}
		}
	}
	return all
}

func TestCallsAreCountedWhereTheyBeginAndTheirTimeWhereItGoesBy(t *testing.T) {
	for _, test := range []struct {
		name    string
		records []perfevent.Record
		want    []map[uint64][2]uint64 // of each window of 100
		times   []uint64               // calls in the windows' histograms
	}{
		{"a call", []perfevent.Record{enter(300, 10), leave(300, 30)},
			[]map[uint64][2]uint64{{300: {20, 1}}}, []uint64{1}},
		{"one that outlasts windows", []perfevent.Record{enter(300, 90), leave(300, 230)},
			[]map[uint64][2]uint64{{300: {10, 1}}, {300: {100, 0}}, {300: {30, 0}}}, []uint64{0, 0, 1}},
		{"one that goes on at the end", []perfevent.Record{enter(300, 90)},
			[]map[uint64][2]uint64{{300: {10, 1}}}, []uint64{0}},
		{"recursion", []perfevent.Record{enter(300, 10), enter(200, 20), enter(100, 30), leave(100, 40), leave(200, 60), leave(300, 90)},
			[]map[uint64][2]uint64{{300: {40, 1}, 200: {30, 1}, 100: {10, 1}}}, []uint64{3}},
		{"recursion over the end of a window", []perfevent.Record{enter(300, 50), enter(200, 80), leave(200, 120), leave(300, 190)},
			[]map[uint64][2]uint64{{300: {30, 1}, 200: {20, 1}}, {300: {70, 0}, 200: {20, 0}}}, []uint64{0, 2}},
		{"a call that began before the run", []perfevent.Record{leave(300, 10), enter(300, 20), leave(300, 25)},
			[]map[uint64][2]uint64{{300: {5, 1}}}, []uint64{1}},
		{"a thread that ends within", []perfevent.Record{enter(300, 10), &perfevent.Exit{Header: perfevent.Header{Time: 40}, PID: 7, TID: 7}},
			[]map[uint64][2]uint64{{300: {30, 1}}}, []uint64{0}},
		{"lost records", []perfevent.Record{enter(300, 10), &perfevent.Lost{Header: perfevent.Header{Time: 40}, Lost: 2}, leave(300, 50)},
			[]map[uint64][2]uint64{{300: {0, 1}}}, []uint64{0}},
		{"on another CPU", []perfevent.Record{enter(300, 10), called(1, 300, 50, 1)},
			[]map[uint64][2]uint64{{300: {40, 1}}}, []uint64{1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var windows []*table.Window
			r, _ := callRecorder(t, table.Options{Interval: 100, Emit: func(w *table.Window) { windows = append(windows, w) }})
			for _, record := range test.records {
				tabletest.Handle(t, r, record)
			}
			r.Finish(uint64(len(test.want)) * 100)
			if len(windows) != len(test.want) {
				t.Fatalf("%d windows, want %d", len(windows), len(test.want))
			}
			for i, want := range test.want {
				got := spent(windows[i])
				for stack, values := range want {
					if got[stack] != values {
						t.Errorf("window %d has %v of stack %d, want %v", i, got[stack], stack, values)
					}
				}
				var times uint64
				for _, row := range windows[i].Rows {
					if row.Histograms != nil {
						times += row.Histograms[0].Count()
					}
				}
				if times != test.times[i] {
					t.Errorf("the histograms of window %d have %d calls, want %d", i, times, test.times[i])
				}
			}
		})
	}
}

func TestCallsOfOurOwnAreLeftOut(t *testing.T) {
	var windows []*table.Window
	r, _ := callRecorder(t, table.Options{Self: 7, Emit: func(w *table.Window) { windows = append(windows, w) }})
	tabletest.Handle(t, r, enter(300, 10))
	tabletest.Handle(t, r, leave(300, 30))
	r.Finish(100)
	if len(windows[0].Rows) != 0 {
		t.Errorf("there are rows: %+v", windows[0].Rows)
	}
}

func TestAGapBreaksCalls(t *testing.T) {
	r, c := callRecorder(t, table.Options{Emit: func(*table.Window) {}})
	tabletest.Handle(t, r, enter(300, 10))
	if c.Bytes() == 0 {
		t.Error("a call that is open takes no memory")
	}
	c.Forget(50)
	tabletest.Handle(t, r, leave(300, 60))
	r.Finish(100)
	if a := c.Account(); a != (CallAccount{before: 1, broken: 1}) {
		t.Errorf("the account is %+v, want a call given up and a return without an entry", a)
	}
}
