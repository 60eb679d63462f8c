package main

import (
	"context"
	"testing"
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
	text := "a;main;leaf 3\nb with space;main;f(int, int) 4\n"
	if n, err := counted(folded, text); err != nil || n != 7 {
		t.Errorf("folded = %d, %v; want 7", n, err)
	}
	if _, err := counted(folded, "a;main\n"); err == nil {
		t.Error("folded of a line without a value: no error")
	}
	script := "a  12 [000] 1.5:    1001001 cpu-clock:pppH: \n\t    7f main+0x1 (/bin/a)\n\nb  13 1.6: cpu-clock: \n\t  7f main (/bin/b)\n\n"
	if n, err := counted(foldedUnnamed, "a;main;[unknown] ([anon]) 3\na;[unknown] (b);main 4\na;0x7f1 5\n"); err != nil || n != 8 {
		t.Errorf("folded without a name = %d, %v; want 8", n, err)
	}
	if n, err := counted(scripted, script); err != nil || n != 2 {
		t.Errorf("scripted = %d, %v; want 2", n, err)
	}
}

// read reads a value from what a tool has printed.
func read(v value, text string) (float64, error) {
	return v(context.Background(), &turn{session: new(session), result: result{stdout: []byte(text)}})
}

func TestClockIsFoundAmongOtherOutput(t *testing.T) {
	if got, err := read(untilClock, "time:20261121\nclock=1500000\ncounts:\n"); err != nil || got != 1.5 {
		t.Errorf("the clock is %v, %v; want 1.5 ms", got, err)
	}
	if _, err := read(untilClock, "nothing\n"); err == nil {
		t.Error("output without a clock: no error")
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

func TestAFigureOfABenchmarkIsThatOfItsNameAndUnit(t *testing.T) {
	for _, test := range []struct {
		name, unit string
		want       float64
	}{{"Unwind/libc", "ns/frame", 25.5}, {"Unwind/go", "ns/frame", 35}, {"Unwind/go", "allocs/op", 1}, {"Other", "ns/op", 700}} {
		if got, err := read(figure(benchmark(test.name, test.unit), 2), benchOutput); err != nil || got != 2*test.want {
			t.Errorf("%s, %s: %v, %v; want %v", test.name, test.unit, got, err, 2*test.want)
		}
	}
	for _, none := range [][2]string{{"Other", "table-B"}, {"Unwind", "ns/op"}, {"Other", "op"}} {
		if got, err := read(figure(benchmark(none[0], none[1]), 1), benchOutput); err == nil {
			t.Errorf("%s: %v; want an error", none, got)
		}
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
