package table

import (
	"testing"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile/histogram"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
	"github.com/ringtap/ringtap/perfevent"
)

// observing is a collector whose rows have a histogram of samples' addresses and nothing else.
type observing struct {
	counting
	scale histogram.Scale
}

func (o *observing) Plan() Plan {
	p := o.counting.Plan()
	p.Histogram = &o.scale
	return p
}

func (o *observing) Fold(rows *Rows, _ int, s *perfevent.Sample) {
	rows.Observe(rows.Of(s), int64(s.Addr))
}

func TestHistogramsOfWindowsAddUpToThoseOfTheRun(t *testing.T) {
	processes := process.NewTable(process.Options{Host: process.Host{Proc: t.TempDir()}})
	defer processes.Close()
	linear, err := histogram.ParseLinear("0,1000,1")
	if err != nil {
		t.Fatal(err)
	}
	var windows []*Window
	o := &observing{counting: counting{stacks: stack.Stacks{Kernel: true}}, scale: linear}
	r := NewRecorder([]Collector{&counting{}, o}, processes, 0, Options{Memory: 1 << 20, Interval: 100, Whole: true,
		Emit: func(w *Window) { windows = append(windows, w) }})
	for i := range uint64(20) {
		s := tabletest.Hit(1, 10*i, 10)
		s.Sampling, s.Addr = 1, i
		tabletest.Handle(t, r, s)
	}
	if got := r.Bytes(); got < 2*8*1000 {
		t.Errorf("two histograms of a thousand buckets take %d bytes", got)
	}
	whole := r.Finish(200)
	for i, w := range append(windows, whole) {
		want := [][2]int64{{10, 45}, {10, 145}, {20, 190}}[i]
		if len(w.Rows) != 1 || w.Rows[0].Histograms[0] != nil {
			t.Fatalf("window %d has rows %+v; want one, without a histogram of the first collector", i, w.Rows)
		}
		h := w.Rows[0].Histograms[1]
		if int64(h.Count()) != want[0] || h.Total().Int64() != want[1] {
			t.Errorf("window %d: %d values add up to %v, want %v", i, h.Count(), h.Total(), want)
		}
	}
}
