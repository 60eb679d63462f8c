package profiler_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/collect/calls"
	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/engine/capture"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
)

// replayed are the options of a run on the capture of 40 calls.
func replayed(t *testing.T) profiler.Options {
	t.Helper()
	source := capture.Open(t, "calls")
	return profiler.Options{
		Source:     source,
		Collectors: []table.Collector{calls.NewCalls("work", source.Sources(t), stack.Stacks{User: true, Unwind: stack.Auto, Entry: true})},
		Memory:     64 << 20, Whole: true,
		Report: func(*profile.Profile) error { return nil },
	}
}

func TestACaptureIsReportedAsARunIs(t *testing.T) {
	o := replayed(t)
	armed, named, frames := 0, 0, 0
	o.Armed = func() error { armed++; return nil }
	o.Progress = func(p profiler.Progress) { named, frames = max(named, p.Named), max(frames, p.Frames) }
	var sum uint64
	o.Interval = 10 * time.Millisecond
	o.Report = func(p *profile.Profile) error {
		for _, row := range p.Rows {
			sum += row.Values[1]
		}
		return nil
	}
	result, err := profiler.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if armed != 1 || sum != 40 || result.Whole.Rows[0].Values[1] != 40 || named != 4 || frames != 4 || len(result.Notes) > 0 {
		t.Errorf("armed %d times; %d calls, %d in all; %d of %d frames named; notes %q", armed, sum, result.Whole.Rows[0].Values[1], named, frames, result.Notes)
	}
}

// wrong is a capture in whose reading something went wrong.
type wrong struct{ *capture.Source }

func (s wrong) Account() (engine.Account, error) {
	a, err := s.Source.Account()
	a.Stats.OrderBreaks, a.Stats.Malformed, a.Stats.SideBandLost = 2, 1, 3
	return a, err
}

func TestWhatWentWrongInReadingIsInTheNotes(t *testing.T) {
	o := replayed(t)
	o.Source = wrong{o.Source.(*capture.Source)}
	result, err := profiler.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, what := range []string{"3 records about processes were lost", "2 records came later", "1 record could not be decoded"} {
		for _, notes := range [][]string{result.Notes, result.Whole.Notes} {
			if !strings.Contains(strings.Join(notes, "\n"), what) {
				t.Errorf("no %q in %q", what, notes)
			}
		}
	}
}

func TestWhoFailsEndsTheRun(t *testing.T) {
	errFull := errors.New("the disk is full")
	o := replayed(t)
	o.Report = func(*profile.Profile) error { return errFull }
	if _, err := profiler.Run(context.Background(), o); !errors.Is(err, errFull) {
		t.Errorf("the error is %v", err)
	}
	o = replayed(t)
	o.Armed = func() error { return errFull }
	if _, err := profiler.Run(context.Background(), o); !errors.Is(err, errFull) {
		t.Errorf("the error is %v", err)
	}
}
