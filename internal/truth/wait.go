package truth

import (
	"os/exec"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/pace"
)

// Patience is how long a test waits for what must happen: no measure of anything, but
// the end of a test that would hang.
func Patience() time.Duration { return pace.Patience(2 * time.Minute) }

// Limit kills a program that was started and that has not ended within Patience, and
// fails the test, so that who reads its output or waits for it comes to an end.
func Limit(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	timer := time.AfterFunc(Patience(), func() {
		if cmd.Process.Kill() == nil { // else somebody has waited for it
			t.Errorf("%s has not ended within %v", cmd, Patience())
		}
	})
	t.Cleanup(func() { timer.Stop() })
}

// Lossless runs what tells how many records were lost, and once more if any were. To
// lose some twice is a failure: nothing that the test is about can be said of it then.
func Lossless(t testing.TB, run func() (lost uint64)) {
	t.Helper()
	first := run()
	if first == 0 {
		return
	}
	t.Logf("%d records lost, once more", first)
	if second := run(); second > 0 {
		t.Errorf("%d records lost, and %d the second time", first, second)
	}
}
