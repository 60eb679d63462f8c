package report

import (
	"bytes"
	"reflect"
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
		for _, l := range fold(p, m, false) {
			sum += l.Value
		}
		if sum != total(p, m) {
			t.Errorf("%s: folded sum %d, rows %d", p.Metrics[m].Name, sum, total(p, m))
		}
	}
}

func TestFoldedLinesAreSortedAndEachStackIsThereOnce(t *testing.T) {
	lines := fold(forest(12, 300), 0, false)
	for i := 1; i < len(lines); i++ {
		if strings.Join(lines[i-1].Frames, ";") == strings.Join(lines[i].Frames, ";") {
			t.Errorf("%q is there twice", lines[i].Frames)
		}
	}
}

func TestFoldedReadsBackAsWritten(t *testing.T) {
	for name, lines := range map[string][]FoldedLine{
		"sample":  fold(sample(), 0, true),
		"hostile": fold(hostile(), 0, true),
		"forest":  fold(forest(13, 300), 0, false),
	} {
		var b bytes.Buffer
		if err := writeFolded(&b, lines); err != nil {
			t.Fatal(err)
		}
		checkVisible(t, b.String(), "\n")
		got, err := ReadFolded(&b)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(lines, got); diff != "" {
			t.Errorf("%s (-written +read):\n%s", name, diff)
		}
	}
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
		if got := string(keepText([]byte(in))); got != want {
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
		lines, err := ReadFolded(&b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fold(p, i, false), lines); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	err := WriteFolded(&bytes.Buffer{}, p, FileOptions{Metric: "bogus"})
	if err == nil || !strings.Contains(err.Error(), "OnCPUTime, Switches") {
		t.Errorf("an unknown metric gives %v: want the names there are", err)
	}
}

func TestReadFoldedNamesTheLineThatIsWrong(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"no value", "a;b 1\na;b\n", "line 2"},
		{"value with a sign", "a -1", "line 1"},
		{"value too large", "\na 18446744073709551616", "line 2"},
		{"line too long", "a 1\n" + strings.Repeat("x", maxFoldedLine+1) + " 1", "after 1 stacks"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadFolded(strings.NewReader(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func FuzzReadFolded(f *testing.F) {
	f.Add([]byte("comm;main;work 12\r\n\ncomm;vfs_read_[k] 3\n"))
	f.Add([]byte(";; 1\n 2\na b 3 4\n"))
	f.Add([]byte("a;\x1b[2J\xff\u202e 18446744073709551615"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := ReadFolded(bytes.NewReader(data))
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := writeFolded(&b, lines); err != nil {
			t.Fatal(err)
		}
		again, err := ReadFolded(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatalf("%q written from %q: %v", b.Bytes(), data, err)
		}
		if !reflect.DeepEqual(lines, again) {
			t.Fatalf("read again: %v, first: %v", again, lines)
		}
	})
}
