package table

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
	"github.com/ringtap/ringtap/perfevent"
)

// remembering is a collector that counts samples, and notes when it was to forget.
type remembering struct {
	counting
	forgot []uint64
}

func (c *remembering) Follow(*Rows, perfevent.Record) {}
func (c *remembering) End(*Rows, uint64)              {}
func (c *remembering) Bytes() int                     { return 0 }
func (c *remembering) Forget(now uint64)              { c.forgot = append(c.forgot, now) }

func sampleAt(at uint64) *perfevent.Sample {
	return &perfevent.Sample{Header: perfevent.Header{PID: 1, TID: 1, Time: at}}
}

// counted is what a window says.
type counted struct {
	Start, End, Samples, LeftOut uint64
	Notes                        []string
}

func TestOnlySpansAreRecorded(t *testing.T) {
	c := &remembering{}
	processes := process.NewTable(process.Options{Host: process.Host{Proc: t.TempDir()}})
	defer processes.Close()
	var got []counted
	r := NewRecorder([]Collector{c}, processes, 0, Options{Memory: 1 << 20, Spans: true, Whole: true, Emit: func(w *Window) {
		got = append(got, counted{w.Start, w.End, w.Counts[0].Samples, w.Counts[0].LeftOut, w.Notes})
	}})
	handle := func(times ...uint64) {
		for _, at := range times {
			tabletest.Handle(t, r, sampleAt(at))
		}
	}
	handle(50)
	r.RecordSpan(Span{Start: 100, End: 200, Notes: []string{"one"}})
	handle(99, 100, 199)
	r.RecordSpan(Span{Start: 200, End: 300, Follows: true})
	handle(200, 201, 299, 300)
	// What went before an alarm is told after it.
	handle(430)
	r.RecordSpan(Span{Start: 350, End: 400})
	for _, at := range []uint64{340, 350, 360, 399} {
		tabletest.Handle(t, r, sampleAt(at))
	}
	r.RecordSpan(Span{Start: 400, End: 500, Follows: true})
	handle(440)
	whole := r.Finish(450)
	want := []counted{
		{100, 200, 2, 0, []string{"one"}},
		{200, 300, 3, 0, nil},
		{350, 400, 3, 0, nil},
		{400, 450, 1, 0, nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]uint64{100, 350}, c.forgot); diff != "" {
		t.Errorf("the collector was to forget (-want +got):\n%s", diff)
	}
	total := Counts{Samples: 9, LeftOut: 5}
	if diff := cmp.Diff([]Counts{total}, r.Counts()); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if whole.Rows[0].Values[0] != 9 {
		t.Errorf("the whole run has %d samples, want 9", whole.Rows[0].Values[0])
	}
}

func TestARunWithoutSpansHasNoWindow(t *testing.T) {
	processes := process.NewTable(process.Options{Host: process.Host{Proc: t.TempDir()}})
	defer processes.Close()
	r := NewRecorder([]Collector{&counting{}}, processes, 0, Options{Memory: 1 << 20, Spans: true,
		Emit: func(w *Window) { t.Errorf("a window from %d to %d", w.Start, w.End) }})
	tabletest.Handle(t, r, sampleAt(10))
	if r.Early(sampleAt(11)) {
		t.Error("a sample was taken early")
	}
	r.Finish(20)
}
