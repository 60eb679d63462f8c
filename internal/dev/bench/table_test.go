package main

import (
	"slices"
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
	m := measurement{compare: []comparison{{what: "a hit", unit: "ns", own: "ringtap: hit", peer: "perf: hit", most: 1}}}
	own := map[string][]float64{"ringtap: hit": {900}}
	tests := []struct {
		about   string
		found   outcome
		verdict string
		note    string
	}{
		{"measured", outcome{Values: map[string][]float64{"ringtap: hit": {900}, "perf: hit": {1000}}}, "met", ""},
		{"not installed", outcome{Values: own, Missing: map[string]string{"perf": "perf is not installed"}}, "-", "perf is not installed"},
		{"failed", outcome{Values: own}, "-", "perf was not measured"},
		{"noted", outcome{Values: map[string][]float64{"ringtap: hit": {900}, "perf: hit": {1000}},
			Notes: map[string]string{"ringtap": "5 samples", "perf": "4 by perf"}}, "met", "5 samples; 4 by perf"},
	}
	for _, test := range tests {
		rows := new(bench).rows(m, test.found)
		if len(rows) != 1 || rows[0].verdict() != test.verdict || rows[0].note != test.note {
			t.Errorf("%s: %+v; want %q, %q", test.about, rows, test.verdict, test.note)
		}
	}
}

func TestEveryComparisonNamesToolsOfItsMeasurement(t *testing.T) {
	for _, m := range measurements {
		names := map[string]bool{"": true}
		for _, tool := range m.tools {
			names[tool.name] = true
		}
		for _, c := range m.compare {
			for _, key := range []string{c.own, c.peer} {
				name, _, _ := strings.Cut(key, ": ")
				if !names[name] {
					t.Errorf("%s: %q is no tool's", m.name, key)
				}
			}
		}
	}
}

func TestArgumentsAreWordsAndQuotedStrings(t *testing.T) {
	s := session{vars: map[string]string{"libc": "/lib/libc.so", "dd": "dd if=a of=b"}}
	tests := map[string][]string{
		"bpftrace -e 'uprobe:$libc:malloc { @ = count(); }' -c '$dd'": {"bpftrace", "-e", "uprobe:/lib/libc.so:malloc { @ = count(); }", "-c", "dd if=a of=b"},
		"strace -c $dd":      {"strace", "-c", "dd", "if=a", "of=b"},
		"go -run=^$ ^a$ ^b$": {"go", "-run=^$", "^a$", "^b$"},
		"sh -c 'kill $! 0$'": {"sh", "-c", "kill $! 0$"},
	}
	for line, want := range tests {
		if got := s.args(line); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
