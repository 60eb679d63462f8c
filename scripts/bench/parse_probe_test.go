package main

import (
	"strings"
	"testing"
)

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
		if got, err := recordedSamples([]byte(test.log)); err != nil || got != test.want {
			t.Errorf("%s: recordedSamples = %d, %v; want %d", test.about, got, err, test.want)
		}
	}
	for _, log := range []string{"", "[ perf record: Woken up 1 times to write data ]\n"} {
		if _, err := recordedSamples([]byte(log)); err == nil {
			t.Errorf("recordedSamples(%q): no error", log)
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

func TestBufferStatFindsTheNumberOfThatNameOnly(t *testing.T) {
	for name, want := range map[string]uint64{"entries": 17, "overrun": 2, "read events": 199981} {
		if got, err := bufferStat([]byte(cpuStats), name); err != nil || got != want {
			t.Errorf("%s = %d, %v; want %d", name, got, err, want)
		}
	}
	for _, name := range []string{"events", "now ts", "read"} {
		if got, err := bufferStat([]byte(cpuStats), name); err == nil {
			t.Errorf("%s = %d; want an error", name, got)
		}
	}
}

func TestBpftraceCountIsTheMapsValue(t *testing.T) {
	if n, err := bpftraceCount(strings.NewReader("Attaching 1 probe...\n\n\n@: 200000\n\n")); err != nil || n != 200000 {
		t.Errorf("bpftraceCount = %d, %v; want 200000", n, err)
	}
	for _, output := range []string{"", "Attaching 1 probe...\n", "@: many\n"} {
		if n, err := bpftraceCount(strings.NewReader(output)); err == nil {
			t.Errorf("bpftraceCount(%q) = %d; want an error", output, n)
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
	if n, err := lineCounter("bench_9")(strings.NewReader(output)); err != nil || n != 2 {
		t.Errorf("lines of bench_9: %d, %v; want 2", n, err)
	}
}

func TestBpftraceSumAddsTheEntriesOfAMap(t *testing.T) {
	const text = "Attaching 1 probe...\n\n\n@[\n    read_zero+1\n    vfs_read+165\n]: 4\n@[\n    read_zero+1\n]: 60001\n@[vfs_read]: 7\n"
	if got, err := bpftraceSum(strings.NewReader(text)); err != nil || got != 60012 {
		t.Errorf("got %d, %v; want 60012", got, err)
	}
	if _, err := bpftraceSum(strings.NewReader("@[a]: many\n")); err == nil {
		t.Error("no error for an entry without a number")
	}
}
