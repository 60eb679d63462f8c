package eval

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
)

// peer runs a program by the installed bpftrace and returns the lines before the maps that it
// prints at its end.
func peer(t *testing.T, text string) []string {
	t.Helper()
	bpftrace, err := exec.LookPath("bpftrace")
	if err != nil {
		t.Skip("bpftrace is not installed")
	}
	if os.Geteuid() != 0 {
		t.Skip("bpftrace needs root")
	}
	file := filepath.Join(t.TempDir(), "program.bt")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	cmd := exec.Command(bpftrace, file)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("bpftrace: %v\n%s", err, lastLines(errs.String()))
	}
	_, rest, _ := strings.Cut(string(out), "probe...\n")
	return strings.Split(rest, "\n")
}

// seeds is how many programs the differential test runs, and expressions how many each has.
const seeds, expressions = 12, 200

func lastLines(s string) string { return s[max(0, len(s)-2000):] }

func TestPeerRandomExpressionsHaveBpftracesValues(t *testing.T) {
	for seed := range uint64(seeds) {
		g := generator{rand.New(rand.NewPCG(seed, 17))}
		text, list := g.program(expressions)
		want := peer(t, text)
		out, _ := run(t, text, check.V017)
		got := strings.Split(out, "\n")
		bad := 0
		for i, x := range list {
			if i >= len(want) || i >= len(got) {
				t.Fatalf("seed %d: %d lines of %d expressions, bpftrace has %d", seed, len(got), len(list), len(want))
			}
			if got[i] != want[i] && bad < 5 {
				bad++
				t.Errorf("seed %d: %s\nis %s, bpftrace says %s", seed, x, got[i], want[i])
			}
		}
	}
}

// Elements of equal value come in the order of the kernel's hash table, so the lines are compared
// without their order.
func TestPeerRandomMapsPrintAsBpftraces(t *testing.T) {
	for seed := range uint64(6) {
		g := generator{rand.New(rand.NewPCG(seed, 5))}
		text := g.maps(120)
		empty := func(line string) bool { return line == "" }
		want := slices.DeleteFunc(peer(t, text), empty)
		out, _ := run(t, text, check.V017)
		got := slices.DeleteFunc(strings.Split(out, "\n"), empty)
		if len(want) < len(got) {
			t.Fatalf("seed %d: %d lines, bpftrace prints %d", seed, len(got), len(want))
		}
		want = want[:len(got)] // at its end bpftrace prints all maps again
		slices.Sort(got)
		slices.Sort(want)
		for i, line := range want {
			if got[i] != line {
				t.Errorf("seed %d: %q, bpftrace prints %q", seed, got[i], line)
				break
			}
		}
	}
}
