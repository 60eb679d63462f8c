package output

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/profile"
)

func TestFolded(t *testing.T) {
	var b bytes.Buffer
	if err := WriteFolded(&b, sample(), FileOptions{Inlines: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, "sample.folded", b.Bytes())
}

func TestFoldedSumsToTheRows(t *testing.T) {
	p := forest(11, 300)
	for m := range p.Metrics {
		var sum uint64
		for _, l := range stackLines(p, m, false) {
			sum += l.Value
		}
		if sum != total(p, m) {
			t.Errorf("%s: folded sum %d, rows %d", p.Metrics[m].Name, sum, total(p, m))
		}
	}
}

func TestFoldedLinesAreSortedAndEachStackIsThereOnce(t *testing.T) {
	lines := stackLines(forest(12, 300), 0, false)
	for i := 1; i < len(lines); i++ {
		if strings.Join(lines[i-1].Frames, ";") == strings.Join(lines[i].Frames, ";") {
			t.Errorf("%q is there twice", lines[i].Frames)
		}
	}
}

func TestFoldedReadsBackAsWritten(t *testing.T) {
	for name, p := range map[string]*profile.Profile{"sample": sample(), "hostile": hostile(), "forest": forest(13, 300)} {
		var b bytes.Buffer
		if err := WriteFolded(&b, p, FileOptions{Inlines: true}); err != nil {
			t.Fatal(err)
		}
		checkVisible(t, b.String(), "\n")
		if diff := cmp.Diff(stackLines(p, 0, true), readFolded(t, b.String())); diff != "" {
			t.Errorf("%s (-written +read):\n%s", name, diff)
		}
	}
}

// readFolded reads lines as the stackcollapse programs write them.
func readFolded(t *testing.T, text string) (lines []stackLine) {
	t.Helper()
	for line := range strings.Lines(text) {
		space := strings.LastIndexByte(line, ' ')
		value, err := strconv.ParseUint(strings.TrimSuffix(line[space+1:], "\n"), 10, 64)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		lines = append(lines, stackLine{strings.Split(line[:space], ";"), value})
	}
	return lines
}

// speedscope takes a file for folded stacks if every line ends in a space and
// digits, and then a line for what this expression finds in it.
func TestFoldedHasTheShapeThatSpeedscopeExpects(t *testing.T) {
	for name, p := range map[string]*profile.Profile{"sample": sample(), "hostile": hostile(), "forest": forest(15, 300)} {
		var b bytes.Buffer
		if err := WriteFolded(&b, p, FileOptions{}); err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(b.String(), "\n")
		if ends := len(regexp.MustCompile(` \d+\r?\n`).FindAllString(b.String(), -1)); ends != lines {
			t.Errorf("%s: %d of %d lines end in a number", name, ends, lines)
		}
		var sum uint64
		for _, m := range regexp.MustCompile(`(?m)^(.*) (\d+)$`).FindAllStringSubmatch(b.String(), -1) {
			v, err := strconv.ParseUint(m[2], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += v
		}
		if sum != total(p, 0) {
			t.Errorf("%s: the lines sum to %d, want %d", name, sum, total(p, 0))
		}
	}
}

func TestFoldedNeverEndsAStackInANumber(t *testing.T) {
	// flamegraph.pl would take the number for the first value of a difference.
	for in, want := range map[string]string{
		"worker;thread 3":   "worker;thread_3",
		"worker 1.5":        "worker_1.5",
		"worker;read4":      "worker;read4",
		"worker;operator ":  "worker;operator ",
		"worker;a 3;b":      "worker;a 3;b",
		"worker;[u8: 4]":    "worker;[u8: 4]",
		"worker;17":         "worker;17",
		"worker;f(int) 0.1": "worker;f(int)_0.1",
	} {
		if got := keepText(in); got != want {
			t.Errorf("keepText(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFoldedChoosesTheMetric(t *testing.T) {
	p := forest(14, 50)
	for i, name := range []string{"OnCPUTime", "switches"} {
		var b bytes.Buffer
		if err := WriteFolded(&b, p, FileOptions{Metric: name}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(stackLines(p, i, false), readFolded(t, b.String())); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	err := WriteFolded(&bytes.Buffer{}, p, FileOptions{Metric: "bogus"})
	if err == nil || !strings.Contains(err.Error(), "OnCPUTime, Switches") {
		t.Errorf("an unknown metric gives %v: want the names there are", err)
	}
}
