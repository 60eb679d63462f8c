package main

import (
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/perfrecord"
)

// Instructions in the text of perf annotate --stdio ("   86.05 :   11d6:   add    $0x1,%rsi") and of
// ringtap annotate ("  86.05 > 11d6:  add    $0x1,%rsi").
var (
	perfsInstruction    = regexp.MustCompile(`(?m)^ +([0-9.]+) +: +([0-9a-f]+): +\S`)
	ringtapsInstruction = regexp.MustCompile(`(?m)^ *([0-9.]*) [ >] +([0-9a-f]+):  \S`)
)

// percentages returns the percentage of each instruction, by address.
func percentages(t *testing.T, text string, instruction *regexp.Regexp) map[string]float64 {
	t.Helper()
	all := make(map[string]float64)
	for _, m := range instruction.FindAllStringSubmatch(text, -1) {
		percent := 0.0
		if m[1] != "" {
			var err error
			if percent, err = strconv.ParseFloat(m[1], 64); err != nil {
				t.Fatal(err)
			}
		}
		if _, twice := all[m[2]]; twice {
			t.Errorf("%s is there twice", m[2])
		}
		all[m[2]] = percent
	}
	return all
}

func TestPeerPercentagesAreThoseOfPerfAnnotate(t *testing.T) {
	perfrecord.Need(t)
	c := knownStacks(t)
	cc := compiled.Program(t, compiled.Sources(t, "testdata/annotated.cc"), "g++", "-O2", "-g", "-o", "annotated", "annotated.cc")
	for _, test := range []struct {
		name, program string
		perf, ringtap string // the function's name
		record        perfrecord.Mode
	}{
		{"C", c, "known_first", "known_first", perfrecord.Mode{Args: "-e cpu-clock -F 999"}},
		{"callchains", c, "known_second", "known_second", perfrecord.Mode{Args: "-e cpu-clock -F 1999 -g"}},
		{"periods", c, "known_first", "known_first", perfrecord.Mode{Args: "-e task-clock -F 1499"}},
		{"inlined calls", cc, "app::work", "app::work(std::vector<double, std::allocator<double> > const&, int)", perfrecord.Mode{Args: "-e cpu-clock -F 1999"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkPercentages(t, perfrecord.Record(t, test.record, test.program), test.perf, test.ringtap)
		})
	}
	t.Run("ringtap record", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "perf.data")
		if code, _, stderr := called(t, "ringtap", "record", "-F", "999", "-o", path, c); code != 0 {
			t.Fatalf("exit status %d: %s", code, stderr)
		}
		checkPercentages(t, path, "known_first", "known_first")
	})
}

// checkPercentages compares the instructions of a function. perf has all functions of a name, the
// hottest first.
func checkPercentages(t *testing.T, path, perfs, ringtaps string) {
	t.Helper()
	text := perfrecord.Run(t, "annotate", "--stdio", "-i", path, "-s", perfs)
	if _, first, ok := strings.Cut(text, " Percent |"); ok {
		text, _, _ = strings.Cut(first, "\n Percent |")
	}
	code, stdout, stderr := called(t, "ringtap", "annotate", "--all", ringtaps, path)
	if code != 0 {
		t.Fatalf("exit status %d: %s", code, stderr)
	}
	want, got := percentages(t, text, perfsInstruction), percentages(t, stdout, ringtapsInstruction)
	sum := 0.0
	for address, percent := range want {
		mine, ok := got[address]
		if !ok || math.Abs(mine-percent) > 0.0051 {
			t.Errorf("%s: %v%% (%v), perf has %v%%", address, mine, ok, percent)
		}
		sum += mine
	}
	if len(got) != len(want) || len(want) < 5 || math.Abs(sum-100) > 0.01*float64(len(want)) {
		t.Errorf("%d instructions with %.2f%%, perf has %d:\n%s\n%s", len(got), sum, len(want), stdout, text)
	}
}
