package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRecordingSecondsAddsUserAndSystemTime(t *testing.T) {
	log := `time=2026-11-21T10:00:00Z level=INFO msg="events armed" events=2
time=2026-11-21T10:00:10Z level=INFO msg="recording done" samples=9 user=1.25s system=250ms
time=2026-11-21T10:00:11Z level=INFO msg="report done" user=9s system=9s
`
	if got, err := recordingSeconds([]byte(log)); err != nil || got != 1.5 {
		t.Errorf("recordingSeconds = %v, %v; want 1.5", got, err)
	}
	for _, log := range []string{"", `msg="recording done" user=x system=1s`} {
		if _, err := recordingSeconds([]byte(log)); err == nil {
			t.Errorf("recordingSeconds(%q): no error", log)
		}
	}
}

func TestSamplesAreCountedAlikeInBothForms(t *testing.T) {
	folded := "a;main;leaf 3\nb with space;main;f(int, int) 4\n"
	if n, err := countFolded(strings.NewReader(folded)); err != nil || n != 7 {
		t.Errorf("countFolded = %d, %v; want 7", n, err)
	}
	if _, err := countFolded(strings.NewReader("a;main\n")); err == nil {
		t.Error("countFolded of a line without a value: no error")
	}
	script := "a  12 [000] 1.5:    1001001 cpu-clock:pppH: \n\t    7f main+0x1 (/bin/a)\n\nb  13 1.6: cpu-clock: \n\t  7f main (/bin/b)\n\n"
	if n, err := countScript(strings.NewReader(script)); err != nil || n != 2 {
		t.Errorf("countScript = %d, %v; want 2", n, err)
	}
}

func TestClockIsFoundAmongOtherOutput(t *testing.T) {
	if got, err := findClock([]byte("time:20261121\nclock=1500\ncounts:\n")); err != nil || got != 1500*time.Nanosecond {
		t.Errorf("findClock = %v, %v; want 1.5µs", got, err)
	}
	if _, err := findClock([]byte("nothing\n")); err == nil {
		t.Error("findClock without a clock: no error")
	}
}

const benchOutput = `goos: linux
BenchmarkUnwind/libc-2         	 1000000	       500 ns/op	        25.5 ns/frame	       0 B/op	       0 allocs/op
BenchmarkUnwind/go-2           	 1000000	       700 ns/op	        35 ns/frame	       0 B/op	       1 allocs/op
BenchmarkUnwind/libc-2         	 1000000	       500 ns/op	        26.5 ns/frame	       0 B/op	       0 allocs/op
BenchmarkOther-2               	 1000000	       700 ns/op
PASS
ok  	github.com/ringtap/ringtap/callchain	3.2s
`

func TestEachBenchmarkThatReportsTheMetricIsARow(t *testing.T) {
	p := inProcess{what: "unwinding", metric: "ns/frame", scale: 2, unit: "ns", most: 50}
	rows := p.rows([]byte(benchOutput))
	if len(rows) != 2 || rows[0].what != "unwinding (Unwind/libc)" || rows[1].what != "unwinding (Unwind/go)" {
		t.Fatalf("rows = %+v; want those of libc and go", rows)
	}
	if !slices.Equal(rows[0].own, []float64{51, 53}) || !slices.Equal(rows[1].own, []float64{70}) {
		t.Errorf("values %v and %v, want scaled 51 53 and 70", rows[0].own, rows[1].own)
	}
	if rows := (inProcess{metric: "table-B"}).rows([]byte(benchOutput)); rows != nil {
		t.Errorf("a metric that no benchmark reports gives %+v", rows)
	}
}

func TestLastLinesAreThoseOfTheEnd(t *testing.T) {
	for _, test := range []struct {
		text string
		n    int
		want string
	}{{"a\nb\nc\n", 2, "b\nc"}, {"a\nb", 5, "a\nb"}, {"a", 1, "a"}, {"", 3, ""}, {"\n", 1, ""}} {
		if got := string(lastLines([]byte(test.text), test.n)); got != test.want {
			t.Errorf("lastLines(%q, %d) = %q, want %q", test.text, test.n, got, test.want)
		}
	}
}
