package oncpu_test

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/perfevent"
)

// The kernel tells of a library for the process that has loaded it, not for its child that has the
// same memory.
func TestLiveAProcessThatSharesMemoryRunsWhatTheOtherLoaded(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir := compiled.Recipe{
		Sources: compiled.Sources(t, "testdata/sharing.c", "testdata/spin.c"),
		Commands: [][]string{
			{"gcc", "-O1", "-o", "sharing", "sharing.c", "-ldl"},
			{"gcc", "-O1", "-fno-omit-frame-pointer", "-shared", "-fPIC", "-o", "libspin.so", "spin.c"},
		},
	}.Dir(t)
	for name, unwind := range map[string]stack.Unwind{"tables": stack.Auto, "frame pointers": stack.FP} {
		t.Run(name, func(t *testing.T) {
			collector := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: 499, Stacks: stack.Stacks{User: true, Unwind: unwind}}
			cmd := exec.Command(filepath.Join(dir, "sharing"), filepath.Join(dir, "libspin.so"))
			p, account := livetest.Run(t, cmd, perfevent.Started, collector, 0)
			const want = 499 * 0.6
			got := livetest.ByFunction(p, "spin")["spin"][0]
			if most := 4 * math.Sqrt(want); math.Abs(float64(got)-want) > most {
				t.Errorf("%d samples are in spin, want %.0f and %.0f more or less at most", got, want, most)
			}
			if account.Unmapped > 0 {
				t.Errorf("%d samples are in no mapping", account.Unmapped)
			}
		})
	}
}
