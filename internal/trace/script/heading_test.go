package script

import (
	"fmt"
	"testing"

	"github.com/ringtap/ringtap/perfevent"
)

func TestAHeadingHasPerfsColumns(t *testing.T) {
	sample := &perfevent.Sample{Header: perfevent.Header{PID: 7, TID: 8, Time: 5_000_000_001_999, CPU: 3}, Period: 12}
	for _, test := range []struct {
		name   string
		set    fields
		chain  bool
		ns     bool
		comm   string
		expect string
	}{
		{"the default without a callchain", defaultFields, false, false, "a b", "             a b     8 [003]  5000.000001:         12   cycles: "},
		{"the default with a callchain", defaultFields, true, false, "a b", "a b     8 [003]  5000.000001:         12   cycles: "},
		{"process and thread", fieldPID | fieldTID | fieldTime, false, true, "", "    7/8      5000.000001999: "},
		{"process", fieldPID, false, false, "", "    7 "},
		{"a callchain without addresses", fieldComm, true, false, "x", "               x "},
		{"an unknown name", fieldComm, false, false, "", "              :8 "},
		{"a hostile name", fieldComm | fieldIP, true, false, "a\nb\x1b", `a\nb\x1b `},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := heading{width: 8, nanoseconds: test.ns}
			var comm []byte
			if test.comm != "" {
				comm = []byte(test.comm)
			}
			if got := string(h.append(nil, sample, comm, "cycles", test.set, test.chain)); got != test.expect {
				t.Errorf("got  %q\nwant %q", got, test.expect)
			}
		})
	}
}

func TestNumbersArePaddedAsByPrintf(t *testing.T) {
	for _, n := range []uint64{0, 1, 9, 10, 99, 100, 999, 1000, 123456, 999999999, 1 << 40, ^uint64(0)} {
		if got, want := string(appendHex(nil, n)), fmt.Sprintf("%16x", n); got != want {
			t.Errorf("hexadecimal %q, want %q", got, want)
		}
		for _, width := range []int{1, 3, 6, 9} {
			if got, want := string(appendZeros(nil, n, width)), fmt.Sprintf("%0*d", width, n); got != want {
				t.Errorf("zeros %q, want %q", got, want)
			}
			text := fmt.Sprint(n)
			if got, want := string(alignRight([]byte("x"+text), 1, 3*width)), fmt.Sprintf("x%*s", 3*width, text); got != want {
				t.Errorf("blanks %q, want %q", got, want)
			}
		}
	}
}
