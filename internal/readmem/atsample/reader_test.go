package atsample

import (
	"log/slog"
	"os"
	"testing"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// A sample without a reading is not early if its process was watched: it was missed.
func TestASampleIsEarlyIfItCameBeforeItsProcessWasWatched(t *testing.T) {
	table := process.NewTable(process.Options{})
	defer table.Close()
	p := table.Process(os.Getpid())
	for _, test := range []struct {
		since, time uint64
		want        bool
	}{{0, 5, true}, {6, 5, true}, {5, 5, false}, {4, 5, false}} {
		r := New(nil, 99, nil, slog.New(slog.DiscardHandler))
		r.watched[p.PID], r.completeBefore = &watchedProcess{process: p, readSince: test.since}, 10
		if got := r.At(&perfevent.Sample{Header: perfevent.Header{PID: uint32(p.PID), Time: test.time}}); got.Early != test.want {
			t.Errorf("a sample at %d of a process that is watched since %d is early: %v", test.time, test.since, got.Early)
		}
	}
}
