package main

import (
	"encoding/json"
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
// recording. The kernel is left out: how often it interrupts the program depends on what else the
// machine does.
func recordChanged(t *testing.T, option string) (path string) {
	t.Helper()
	program := compiled.Program(t, compiled.Sources(t, "testdata/changed.c"), "gcc", "-O1", "-g", option,
		"-fno-omit-frame-pointer", "-o", "changed", "changed.c")
	return perfrecord.Record(t, perfrecord.Mode{Args: "-e cpu-clock:u -F 999 -g"}, program)
}

// periods is what perf has of a recording: the sum of the periods of all samples, Kish's number of
// samples, and the sum of each of the program's functions.
type periods struct {
	all, effective float64
	of             map[string]uint64
}

// periodsOf returns the periods that perf prints. The program's functions call no others, so that only
// the function that ran matters.
func periodsOf(t *testing.T, path string) periods {
	t.Helper()
	p, squares := periods{of: make(map[string]uint64)}, 0.0
	for line := range strings.Lines(perfrecord.Run(t, "script", "-F", "period,ip,sym", "-G", "-i", path)) {
		words := strings.Fields(line)
		period, err := strconv.ParseUint(words[0], 10, 64)
		if err != nil || len(words) < 3 {
			t.Fatalf("%q: %v", line, err)
		}
		p.all += float64(period)
		squares += float64(period) * float64(period)
		if name := words[2]; strings.HasPrefix(name, "work") {
			p.of[name] += period
		}
	}
	p.effective = p.all * p.all / squares
	return p
}

// The numbers are those of perf's samples. How far the samples may be from the truth is the host's
// matter; that the margin contains it is tested where the samples are made up (internal/profile/diff).
func TestPeerADifferenceNamesTheFunctionThatBecameFaster(t *testing.T) {
	perfrecord.Need(t)
	before, after := recordChanged(t, "-DHALF=1"), recordChanged(t, "-DHALF=2")
	perfBefore, perfAfter := periodsOf(t, before), periodsOf(t, after)
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
		Before, After struct{ Samples float64 }
		Functions     []struct {
			Name           string
			Before, After  uint64
			Change, Margin float64
			Chance         bool
		}
	}
	if err := json.Unmarshal(text, &diff); err != nil {
		t.Fatal(err)
	}
	for _, side := range []struct{ got, want float64 }{{diff.Before.Samples, perfBefore.effective}, {diff.After.Samples, perfAfter.effective}} {
		if math.Abs(side.got-side.want) > 0.001*side.want {
			t.Errorf("%v samples, want %v", side.got, side.want)
		}
	}
	// work0 goes from 3 of 18 parts to 1.5 of 16.5. With 2000 samples, that is seven standard deviations,
	// and the margin is two.
	if len(diff.Functions) == 0 || diff.Functions[0].Name != "work0" || diff.Functions[0].Chance || diff.Functions[0].Change > 0 {
		t.Fatalf("work0 is not the largest change:\n%s", stdout)
	}
	compared := 0
	for _, f := range diff.Functions {
		if perfBefore.of[f.Name] == 0 {
			continue
		}
		compared++
		if f.Before != perfBefore.of[f.Name] || f.After != perfAfter.of[f.Name] {
			t.Errorf("%s has %d and %d, by perf %d and %d", f.Name, f.Before, f.After, perfBefore.of[f.Name], perfAfter.of[f.Name])
		}
		want := float64(perfAfter.of[f.Name])/perfAfter.all - float64(perfBefore.of[f.Name])/perfBefore.all
		if math.Abs(f.Change-want) > 1e-6 || f.Chance != (math.Abs(f.Change) <= f.Margin) {
			t.Errorf("%s changed by %v ±%v, by perf %v; by chance: %v", f.Name, f.Change, f.Margin, want, f.Chance)
		}
	}
	if compared != 16 {
		t.Errorf("%d of 16 functions are compared:\n%s", compared, stdout)
	}
}
