package table

import (
	"slices"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
	"github.com/ringtap/ringtap/perfevent"
)

// labeller counts each sample on a row with the label of its CPU.
type labeller struct{ counting }

func (l *labeller) Fold(rows *Rows, _ int, s *perfevent.Sample) {
	rows.Add(rows.With(rows.Of(s), []string{"[zero]", "[one]"}[s.CPU]), 0, 1)
}

func TestALabelIsTheLeafOfItsRow(t *testing.T) {
	processes := process.NewTable(process.Options{Host: process.Host{Proc: t.TempDir()}})
	t.Cleanup(processes.Close)
	var windows []*Window
	r := NewRecorder([]Collector{&labeller{counting{stacks: stack.Stacks{Kernel: true}}}}, processes, 0,
		Options{Memory: 1 << 20, Interval: second, Emit: func(w *Window) { windows = append(windows, w) }})
	on := func(cpu uint32, s *perfevent.Sample) *perfevent.Sample { s.CPU = cpu; return s }
	for _, s := range []*perfevent.Sample{on(1, tabletest.Hit(1, 0, 10, 20)), on(0, tabletest.Hit(1, 1, 10, 20)), on(1, tabletest.Hit(1, 2, 10, 20)),
		on(1, tabletest.Hit(1, second, 10, 20)), on(1, tabletest.Hit(1, second+1))} {
		tabletest.Handle(t, r, s)
	}
	r.Finish(2 * second)
	type row struct {
		window int
		label  string
		below  int // frames
		count  uint64
	}
	var got []row
	for i, w := range windows {
		for _, r := range w.Rows {
			of := r.Kernel
			if of < 0 {
				of = r.User
			}
			frames := w.Stacks[of].Frames
			if frames[0].Object != stack.Labels || slices.ContainsFunc(frames[1:], func(f callchain.Frame) bool { return f.Object == stack.Labels }) {
				t.Errorf("window %d: stack %v; want a label as its leaf", i, frames)
				continue
			}
			got = append(got, row{i, w.Labels[frames[0].Offset], len(frames) - 1, r.Values[0]})
		}
	}
	slices.SortFunc(got, func(a, b row) int { return 10*(a.window-b.window) + b.below - a.below + int(b.count) - int(a.count) })
	want := []row{{0, "[one]", 2, 2}, {0, "[zero]", 2, 1}, {1, "[one]", 2, 1}, {1, "[one]", 0, 1}}
	if !slices.Equal(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
}
