package llc

import (
	"errors"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
	"github.com/ringtap/ringtap/perfevent"
)

// cacheWindows runs samples of misses (0) and references (1) through a recorder.
func cacheWindows(t *testing.T, c *Collector, samples ...*perfevent.Sample) []*table.Window {
	t.Helper()
	var windows []*table.Window
	processes := process.NewTable(process.Options{Host: process.Host{Proc: t.TempDir()}})
	t.Cleanup(processes.Close)
	r := table.NewRecorder([]table.Collector{c}, processes, 0, table.Options{Interval: 100, Memory: 1 << 20, Emit: func(w *table.Window) { windows = append(windows, w) }})
	for _, s := range samples {
		tabletest.Handle(t, r, s)
	}
	r.Finish(200)
	return windows
}

func missed(sampling int, at, period uint64) *perfevent.Sample {
	s := tabletest.Hit(7, at, 10)
	s.Sampling, s.Period = sampling, period
	return s
}

func TestASampleStandsForItsPeriod(t *testing.T) {
	c := New(1000, stack.Stacks{Kernel: true})
	w := cacheWindows(t, c, missed(0, 10, 1000), missed(1, 20, 1000), missed(1, 30, 1000), missed(1, 40, 2000))[0]
	values := w.Rows[0].Values
	if values[cacheMisses] != 1000 || values[cacheReferences] != 4000 {
		t.Errorf("%d misses of %d references, want 1000 of 4000", values[cacheMisses], values[cacheReferences])
	}
	if hits := c.Plan().Metrics[2].Share.Of(values); hits != 75 {
		t.Errorf("%d %% hit, want 75: references contain the misses", hits)
	}
}

func TestCountersThatTakeTurnsAreScaledByWindow(t *testing.T) {
	c := New(1000, stack.Stacks{Kernel: true})
	reads := [][]perfevent.Running{
		{{Enabled: 7}, {Enabled: 7}},
		{{Enabled: 107, Counted: 50}, {Enabled: 107, Counted: 100}},
		{{Enabled: 207, Counted: 150}, {Enabled: 207, Counted: 125}},
	}
	c.Running(func() ([]perfevent.Running, error) {
		next := reads[0]
		reads = reads[1:]
		return next, nil
	})
	windows := cacheWindows(t, c, missed(0, 10, 1000), missed(1, 20, 1000), missed(0, 110, 1000), missed(1, 120, 1000))
	for i, want := range [][2]uint64{{2000, 1000}, {1000, 4000}} {
		if got := windows[i].Rows[0].Values; got[0] != want[0] || got[1] != want[1] {
			t.Errorf("window %d has %d, want %d", i, got[:2], want)
		}
	}
	if misses, references := c.Shared(); misses != (perfevent.Running{Enabled: 200, Counted: 150}) || references.Counted != 125 {
		t.Errorf("in all %+v and %+v", misses, references)
	}
}

func TestCountsStandWhereNobodyKnowsHowLongTheyTook(t *testing.T) {
	c := New(10, stack.Stacks{Kernel: true})
	c.Running(func() ([]perfevent.Running, error) { return nil, errors.New("gone") })
	if w := cacheWindows(t, c, missed(0, 10, 10))[0]; w.Rows[0].Values[0] != 10 {
		t.Errorf("%d misses, want 10", w.Rows[0].Values[0])
	}
}

func TestScalingDoesNotOverflow(t *testing.T) {
	c := New(1<<31, stack.Stacks{Kernel: true})
	var times perfevent.Running
	c.Running(func() ([]perfevent.Running, error) {
		defer func() { times = perfevent.Running{Enabled: 3e18, Counted: 2e18} }()
		return []perfevent.Running{times, {}}, nil
	})
	if w := cacheWindows(t, c, missed(0, 10, 1<<62))[0]; w.Rows[0].Values[0] != 3<<61 {
		t.Errorf("%d misses, want %d", w.Rows[0].Values[0], uint64(3<<61))
	}
}
