package histogram_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/profile/histogram"
)

// The text is bpftrace's, line for line.
func TestPeerHistogramsReadAsBpftracesDo(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root: bpftrace needs it")
	}
	if _, err := exec.LookPath("bpftrace"); err != nil {
		t.Skip("bpftrace is not installed")
	}
	steps, err := histogram.Linear(0, 100, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, call string
		scale      histogram.Scale
		values     []int64
	}{
		{"powers", "hist(%d)", histogram.Log2(), []int64{-3, 0, 1, 1, 1, 2, 3, 4, 1023, 1024, 5000, 5000, 5000, 5000, 5000, 5000, 5000, 3 << 20, 1 << 30}},
		{"powers without small ones", "hist(%d)", histogram.Log2(), []int64{700, 800, 900, 70000}},
		{"a bar that only 32-bit floating-point numbers make that long", "hist(%d)", histogram.Log2(), slices.Concat(slices.Repeat([]int64{1}, 15), slices.Repeat([]int64{2}, 26))},
		{"steps", "lhist(%d, 0, 100, 10)", steps, []int64{-1, 0, 9, 10, 11, 12, 55, 55, 99, 100, 1 << 40}},
		{"steps inside", "lhist(%d, 0, 100, 10)", steps, []int64{20, 25, 45}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := histogram.New(test.scale)
			var program strings.Builder
			program.WriteString("BEGIN { ")
			for _, v := range test.values {
				h.Add(v)
				fmt.Fprintf(&program, "@ = "+test.call+"; ", v)
			}
			program.WriteString("exit() }")
			out, err := exec.Command("bpftrace", "-e", program.String()).Output()
			if err != nil {
				t.Fatalf("bpftrace: %v\n%s", err, out)
			}
			_, text, ok := strings.Cut(string(out), "@:")
			if !ok {
				t.Fatalf("bpftrace prints %q", out)
			}
			_, text, _ = strings.Cut(text, "\n")
			if want, got := strings.TrimRight(text, "\n"), strings.TrimRight(string(h.Append(nil)), "\n"); got != want {
				t.Errorf("got\n%s\nbpftrace has\n%s", got, want)
			}
		})
	}
}
