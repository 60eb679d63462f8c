package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/perfrecord"
)

// recordChanged records the program of testdata/changed.c, built with an option, and returns the
// recording and the shares of CPU time that the program measured itself. The kernel is left out: how
// often it interrupts the program depends on what else the machine does.
func recordChanged(t *testing.T, option string) (path string, shares map[string]float64) {
	t.Helper()
	program := compiled.Program(t, compiled.Sources(t, "testdata/changed.c"), "gcc", "-O1", "-g", option,
		"-fno-omit-frame-pointer", "-o", "changed", "changed.c")
	printed := filepath.Join(t.TempDir(), "printed")
	path = perfrecord.Record(t, perfrecord.Mode{Args: "-e cpu-clock:u -F 999 -g"}, "sh", "-c", program+" >"+printed)
	text, err := os.ReadFile(printed)
	if err != nil {
		t.Fatal(err)
	}
	shares, sum := make(map[string]float64), 0.0
	for line := range strings.Lines(string(text)) {
		var name string
		var spent float64
		if _, err := fmt.Sscan(line, &name, &spent); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		shares[name] = spent
		sum += spent
	}
	for name := range shares {
		shares[name] /= sum
	}
	return path, shares
}

// effectiveSamples returns Kish's number of the periods that perf prints.
func effectiveSamples(t *testing.T, path string) float64 {
	t.Helper()
	var sum, squares float64
	for _, word := range strings.Fields(perfrecord.Run(t, "script", "-F", "period", "-G", "-i", path)) {
		period, err := strconv.ParseFloat(word, 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += period
		squares += period * period
	}
	return sum * sum / squares
}

func TestPeerADifferenceNamesTheFunctionThatBecameFaster(t *testing.T) {
	perfrecord.Need(t)
	before, sharesBefore := recordChanged(t, "-DHALF=1")
	after, sharesAfter := recordChanged(t, "-DHALF=2")
	out := filepath.Join(t.TempDir(), "diff.json")
	code, stdout, stderr := called(t, "ringtap", "diff", before, after, "--out", out)
	if code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	var diff struct {
		Before    struct{ Samples float64 }
		Functions []struct {
			Name           string
			Change, Margin float64
			Chance         bool
		}
	}
	if err := json.Unmarshal(text, &diff); err != nil {
		t.Fatal(err)
	}
	if want := effectiveSamples(t, before); math.Abs(diff.Before.Samples-want) > 0.001*want {
		t.Errorf("%v samples, want %v", diff.Before.Samples, want)
	}
	if len(diff.Functions) == 0 || diff.Functions[0].Name != "work0" || diff.Functions[0].Chance || diff.Functions[0].Change > 0 {
		t.Fatalf("work0 is not the largest change:\n%s", stdout)
	}
	// The margin contains the true change in 95 % of the cases, and twice the margin in all but one
	// of ten thousand.
	compared, changed := 0, 0
	for _, f := range diff.Functions {
		after, known := sharesAfter[f.Name]
		if !known {
			continue
		}
		compared++
		truth := after - sharesBefore[f.Name]
		if math.Abs(f.Change-truth) > 2*f.Margin {
			t.Errorf("%s changed by %.3f ±%.3f, in truth by %.3f", f.Name, f.Change, f.Margin, truth)
		}
		if !f.Chance && f.Name != "work0" {
			changed++
		}
	}
	if compared != len(sharesAfter) {
		t.Errorf("%d of %d functions are compared:\n%s", compared, len(sharesAfter), stdout)
	}
	// Each of the other 15 seems to have changed in one of 20 cases: five of them in one of a thousand.
	if changed > 4 {
		t.Errorf("%d functions that are the same seem to have changed:\n%s", changed, stdout)
	}
}
