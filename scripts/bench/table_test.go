package main

import (
	"strings"
	"testing"
)

func TestVerdictComparesTheMedianWithTheTarget(t *testing.T) {
	tests := []struct {
		about string
		row   row
		want  string
	}{
		{"ratio reached exactly", row{own: []float64{1, 1, 9}, peer: []float64{5}, most: 0.2}, "met"},
		{"ratio not reached", row{own: []float64{1.1, 1.1, 0}, peer: []float64{5}, most: 0.2}, "MISSED"},
		{"value reached", row{own: []float64{49, 50, 51}, most: 50}, "met"},
		{"value not reached", row{own: []float64{1}, most: 0}, "MISSED"},
		{"no target", row{own: []float64{1}, peer: []float64{1}, most: -1}, "-"},
		{"nothing measured", row{most: 5}, "not measured"},
	}
	for _, test := range tests {
		if got := test.row.verdict(); got != test.want {
			t.Errorf("%s: %q, want %q", test.about, got, test.want)
		}
	}
}

func TestMedianIsTheMiddle(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{{[]float64{7}, 7}, {[]float64{9, 1, 5}, 5}, {[]float64{4, 1, 2, 100}, 3}} {
		if got := median(test.values); got != test.want {
			t.Errorf("median(%v) = %v, want %v", test.values, got, test.want)
		}
	}
}

func TestTableShowsMediansRatioTargetAndNotes(t *testing.T) {
	var w strings.Builder
	err := printTable(&w, []row{
		{what: "recording", unit: "s", own: []float64{0.5, 0.25, 1}, peer: []float64{2, 2, 2}, most: 0.2, note: "perf was slow"},
		{what: "one frame", unit: "ns", own: []float64{31.25}, most: 50},
		{what: "missing", unit: "ns", most: 5},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{
		{"what", "ringtap", "peer", "ratio", "target", "runs", "(ringtap;", "peer)"},
		{"recording", "0.5", "s", "2", "s", "0.25", "≤", "0.2", "MISSED", "0.5", "0.25", "1;", "2", "2", "2"},
		{"one", "frame", "31.2", "ns", "-", "-", "≤", "50", "ns", "met", "31.2"},
		{"missing", "-", "-", "-", "≤", "5", "ns", "not", "measured"},
		{"recording:", "perf", "was", "slow"},
	}
	lines := strings.Split(strings.TrimSpace(w.String()), "\n")
	if len(lines) != len(want) {
		t.Fatalf("%d lines, want %d:\n%s", len(lines), len(want), w.String())
	}
	for i, line := range lines {
		if got := strings.Join(strings.Fields(line), " "); got != strings.Join(want[i], " ") {
			t.Errorf("line %d is %q, want %q", i, got, want[i])
		}
	}
}

func TestARowAgainstAPeerThatIsMissingHasNoTarget(t *testing.T) {
	own := row{what: "a hit", unit: "ns", own: []float64{900}}
	tests := []struct {
		about   string
		row     row
		verdict string
		note    string
	}{
		{"measured", own.against("perf", "", []float64{1000}, 1), "met", ""},
		{"not installed", own.against("perf", "perf is not installed", nil, 1), "-", "perf is not installed"},
		{"failed", own.against("perf", "", nil, 1), "-", "perf was not measured"},
	}
	for _, test := range tests {
		if got := test.row.verdict(); got != test.verdict || test.row.note != test.note {
			t.Errorf("%s: %q, note %q; want %q, %q", test.about, got, test.row.note, test.verdict, test.note)
		}
	}
}
