package truth

import (
	"os/exec"
	"runtime"
	"testing"
)

// KeepBusy keeps every CPU from being idle until the test ends: some machines trace
// nothing while one is (collect.BlindCPUs), and kernels do much of what they put off
// then.
func KeepBusy(t *testing.T) {
	t.Helper()
	for range runtime.NumCPU() {
		cmd := exec.Command("sh", "-c", "while :; do :; done")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cmd.Process.Kill()
			cmd.Wait()
		})
	}
}
