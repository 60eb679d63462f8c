package testlimit

import (
	"os/exec"
	"testing"
	"time"
)

// End is how long a test waits for something that must happen, even on a busy or an
// emulated machine. It measures nothing, and is well below the ten minutes that a
// package may take.
const End = 3 * time.Minute

// Limit kills the started program cmd if it does not end within End, and fails the test.
// So a test that reads the program's output, or waits for it, does not hang.
func Limit(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	timer := time.AfterFunc(End, func() {
		if cmd.Process.Kill() == nil { // an error means that it has ended and was waited for
			t.Errorf("%s has not ended within %v", cmd, End)
		}
	})
	t.Cleanup(func() { timer.Stop() })
}
