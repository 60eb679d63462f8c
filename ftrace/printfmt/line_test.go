package printfmt

import (
	"testing"

	"github.com/ringtap/ringtap/ftrace"
)

func TestLinesHaveTheKernelsColumns(t *testing.T) {
	f := &ftrace.Format{System: "s", Name: "event", PrintFmt: `"text"`, Fields: commonFields()}
	p, err := New(f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, comm   string
		tid, cpu     int
		nanoseconds  uint64
		flags, count byte
		want         string
	}{
		{"the least", "bash", 1875, 25, 521188474000, 0, 1, "            bash-1875    [025] .....   521.188474: event: text"},
		{"the longest name", "fifteen letters", 12345678, 1, 1, 0, 0, " fifteen letters-12345678 [001] .....     0.000000: event: text"},
		{"the idle task", "swapper/0", 0, 0, 0, 0, 0, "          <idle>-0       [000] .....     0.000000: event: text"},
		{"nobody knows the name", "", 7, 0, 0, 0, 0, "           <...>-7       [000] .....     0.000000: event: text"},
		{"a hostile name", "\x1b[2J\n", 7, 0, 0, 0, 0, `           \x1b[2J\n-7       [000] .....     0.000000: event: text`},
		{"the thread is about to end", "true", -1, 0, 0, 0, 0, "            true-4242    [000] .....     0.000000: event: text"},
		{"time is rounded", "a", 1, 1000, 999_999_999_999_500, 0, 0, "               a-1       [1000] ..... 1000000.000000: event: text"},
		{"irqs off in a hard interrupt", "a", 1, 0, 0, flagIRQsOff | flagHardIRQ, 3, "               a-1       [000] d.h2.     0.000000: event: text"},
		{"all that may be", "a", 1, 0, 0, flagIRQsOff | flagBHOff | flagNeedResched | flagPreemptResched | flagHardIRQ | flagSoftIRQ, 0x2f, "               a-1       [000] DNHe2     0.000000: event: text"},
		{"softirq, lazily", "a", 1, 0, 0, flagSoftIRQ | flagNeedReschedLazy | flagBHOff, 0x11, "               a-1       [000] bls.1     0.000000: event: text"},
	} {
		t.Run(test.name, func(t *testing.T) {
			raw := []byte{0, 0, test.flags, test.count, 0x92, 0x10, 0, 0}
			if test.tid == 0 {
				raw[4], raw[5] = 0, 0
			}
			got := string(AppendLine(nil, []byte(test.comm), test.tid, test.cpu, test.nanoseconds, raw, f, p))
			if got != test.want {
				t.Errorf("\n got  %q\n want %q", got, test.want)
			}
		})
	}
}
