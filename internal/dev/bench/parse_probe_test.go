package main

import (
	"regexp"
	"strings"
	"testing"
)

// counted counts by a pattern in which nothing is left to expand.
func counted(c counter, text string) (uint64, error) {
	return countIn(strings.NewReader(text), regexp.MustCompile(c.pattern))
}

func TestRecordedSamplesAreThoseThatPerfSaysItWrote(t *testing.T) {
	tests := []struct {
		about, log string
		want       uint64
	}{
		{"samples", `[ perf record: Woken up 1 times to write data ]
[ perf record: Captured and wrote 0.001 MB /tmp/h.data (3 samples) ]
`, 3},
		{"none", `[ perf record: Woken up 1 times to write data ]
[ perf record: Captured and wrote 0.039 MB /tmp/h.data ]
`, 0},
		{"some lost", `[ perf record: Woken up 121 times to write data ]
Warning:
Processed 271474 events and lost 4 chunks!

Check IO/CPU overload!

Warning:
Processed 300000 samples and lost 9.62%!

[ perf record: Captured and wrote 31.032 MB /tmp/h.data (271132 samples) ]
`, 271132},
	}
	for _, test := range tests {
		if got, err := counted(captured, test.log); err != nil || got != test.want {
			t.Errorf("%s: captured = %d, %v; want %d", test.about, got, err, test.want)
		}
	}
	for _, log := range []string{"", "[ perf record: Woken up 1 times to write data ]\n"} {
		if _, err := counted(captured, log); err == nil {
			t.Errorf("captured in %q: no error", log)
		}
	}
}

const cpuStats = `entries: 17
overrun: 2
commit overrun: 3
bytes: 1972
oldest event ts:  3204.183919
now ts:  3204.283919
dropped events: 4
read events: 199981
`

func TestReadEventsAreTheNumberOfThatNameOnly(t *testing.T) {
	if got, err := counted(readEvents, cpuStats+cpuStats); err != nil || got != 2*199981 {
		t.Errorf("read events of two CPUs = %d, %v; want %d", got, err, 2*199981)
	}
	if got, err := counted(readEvents, strings.ReplaceAll(cpuStats, "read events", "events")); err == nil {
		t.Errorf("without that line %d; want an error", got)
	}
}

func TestBpftraceCountIsTheMapsValue(t *testing.T) {
	if n, err := counted(mapCount, "Attaching 1 probe...\n\n\n@: 200000\n\n"); err != nil || n != 200000 {
		t.Errorf("mapCount = %d, %v; want 200000", n, err)
	}
	for _, output := range []string{"", "Attaching 1 probe...\n", "@: many\n"} {
		if n, err := counted(mapCount, output); err == nil {
			t.Errorf("mapCount of %q = %d; want an error", output, n)
		}
	}
}

func TestLinesOfOneEventAreCounted(t *testing.T) {
	const output = `Tracing uprobe bench_9 (p:bench_9 /lib/x86_64-linux-gnu/libc.so.6:0x3d070). Ctrl-C to end.
      bench-hits-1875    [001] .....   521.188474: bench_9: (0x7f29fa4e5070)
      bench-hits-1875    [001] .....   521.188574: bench_9: (0x7f29fa4e5070)
      bench-hits-1875    [001] .....   521.188574: bench_99: (0x7f29fa4e5070)

Ending tracing...
`
	s := session{vars: map[string]string{"group": "bench_9"}}
	if n, err := counted(counter{pattern: s.expand(eventLines.pattern)}, output); err != nil || n != 2 {
		t.Errorf("lines of bench_9: %d, %v; want 2", n, err)
	}
}

func TestBpftraceSumAddsTheEntriesOfAMap(t *testing.T) {
	const text = "Attaching 1 probe...\n\n\n@[\n    read_zero+1\n    vfs_read+165\n]: 4\n@[\n    read_zero+1\n]: 60001\n@[vfs_read]: 7\n"
	if got, err := counted(mapCounts, text); err != nil || got != 60012 {
		t.Errorf("got %d, %v; want 60012", got, err)
	}
	if _, err := counted(mapCounts, "@[a]: many\n"); err == nil {
		t.Error("no error for an entry without a number")
	}
}
