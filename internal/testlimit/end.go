package testlimit

import (
	"os/exec"
	"testing"
	"time"
)

// End is when a test gives up waiting for what has to come, on a busy machine or an
// emulated one too. It measures nothing, and is well within the ten minutes that a
// package may take.
const End = 3 * time.Minute

// Limit kills a program that was started and that has not ended within End, and fails
// the test: who reads its output, or waits for it, comes to an end.
func Limit(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	timer := time.AfterFunc(End, func() {
		if cmd.Process.Kill() == nil { // else somebody has waited for it
			t.Errorf("%s has not ended within %v", cmd, End)
		}
	})
	t.Cleanup(func() { timer.Stop() })
}
