package profiler_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
)

// Of the same program's samples, at least as many have the whole chain as with
// perf's own unwinding of the copied stack. Two hundredths are for what falls
// on starting and ending, which is less of a longer run: of 150 samples there were
// up to three.
func TestPeerPerfFindsNoMoreWholeChains(t *testing.T) {
	needRoot(t)
	if _, err := exec.LookPath("perf"); err != nil {
		t.Skip("perf is not installed")
	}
	names := []string{"c-O2-nofp", "signal-nofp", "deep-nofp-20KiB", "go"}
	if testlimit.IsThorough() {
		names = append(names, "c-O2-nofp-static", "plt-nofp", "libc-nofp", "cxx-O2-nofp", "rust-nofp")
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			built := truth.Named(name).Build(t)
			testlimit.Enough(t, 600, func(ms int) bool {
				seconds := float64(ms) / 1000
				theirs := perfMatching(t, built, seconds)
				ours := matching(t, profileCommand(t, built.Command(seconds), stack.Auto), built)
				t.Logf("whole chains: perf %.1f %%, ringtap %.1f %%", 100*theirs, 100*ours)
				return ours >= theirs-0.02
			})
		})
	}
}

// perfMatching is the share of perf's samples whose user stack is the program's
// chain.
func perfMatching(t *testing.T, built truth.Built, seconds float64) float64 {
	t.Helper()
	data := filepath.Join(t.TempDir(), "perf.data")
	record := []string{"record", "-q", "-e", "cpu-clock:u", "-F", "250", "--call-graph", "dwarf,65528", "-o", data, "--"}
	if output, err := exec.Command("perf", append(record, built.Command(seconds).Args...)...).CombinedOutput(); err != nil {
		t.Fatalf("perf record: %v\n%s", err, output)
	}
	script, err := exec.Command("perf", "script", "-i", data, "-F", "ip,sym", "--no-inline").Output()
	if err != nil {
		t.Fatalf("perf script: %v", err)
	}
	var all, right int
	for stack := range strings.SplitSeq(strings.TrimSpace(string(script)), "\n\n") {
		var names []string
		for line := range strings.Lines(strings.TrimSpace(stack)) {
			_, name, _ := strings.Cut(strings.TrimSpace(line), " ")
			names = append(names, strings.TrimSpace(strings.TrimSuffix(name, "[unknown]")))
		}
		slices.Reverse(names)
		if len(names) == 0 {
			continue // user stacks only: a sample of the kernel
		}
		all++
		if built.Match(names) == nil {
			right++
		}
	}
	if all < 50 {
		t.Fatalf("perf has %d samples only", all)
	}
	return float64(right) / float64(all)
}
