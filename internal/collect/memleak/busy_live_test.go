package memleak_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/memleak"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// Sizes of what testdata/busy.py keeps: an object of bytes has 33 bytes more than its text (3.6 to 3.15).
const (
	busySize  = 700 + 33
	largeSize = 1<<20 + 33
)

// The program allocates as fast as it can, mostly what it frees, at the same size and by the same native
// functions as what it keeps. Few of its allocations are read.
func TestLiveLeaksOfABusyPythonHaveTheirFunctions(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, python := range livetest.OfEachLanguage(t) {
		if python.Language == "python" {
			t.Run(python.Name, func(t *testing.T) { checkBusy(t, python, 30000) })
		}
	}
}

func checkBusy(t *testing.T, python livetest.Interpreter, rounds int) {
	var p *profile.Profile
	var reading memleak.Reading
	testlimit.Lossless(t, func() (lost uint64) {
		p, reading, lost = profileOf(t, python.Program("testdata/busy", strconv.Itoa(rounds)), 0)
		return lost
	})
	by := make(map[string]float64) // bytes
	var all, named float64
	for _, row := range p.Rows {
		bytes := float64(row.Values[0])
		all += bytes
		names, late := livetest.Calls(p, &row)
		if len(names) > 0 && !late {
			named += bytes
			by[names[len(names)-1]] += bytes
		}
	}
	t.Logf("%.0f bytes, %.1f%% by a function: %v; %+v, standard error %.0f; %s", all, 100*named/all, by, reading, reading.StandardError(), p.Notes)
	if named < 0.95*all {
		t.Errorf("%.1f%% of the memory stands by Python's functions, want 95%%", 100*named/all)
	}
	if passing := by["passing"]; passing > 0.01*all {
		t.Errorf("%.0f bytes stand by the function that keeps nothing", passing)
	}
	// A large allocation stands for itself only: what could not be read of them is counted as such.
	if want := float64(rounds/1000) * largeSize; by["large"] < want-1-float64(reading.None) || by["large"] > want+largeSize {
		t.Errorf("%.0f bytes stand by large and %d by no function, want %.0f", by["large"], reading.None, want)
	}
	for name, want := range map[string]float64{"often": 2 * float64(rounds) * busySize, "seldom": float64(rounds) * busySize} {
		if slack := 0.02*want + 5*reading.StandardError(); by[name] < want-slack || by[name] > want+slack {
			t.Errorf("%.0f bytes stand by %s, want %.0f, give or take %.0f", by[name], name, want, slack)
		}
	}
}
