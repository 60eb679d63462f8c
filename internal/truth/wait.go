package truth

import (
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/pace"
)

// Patience is how long a test waits for what must happen: no measure of anything, but
// the end of a test that would hang.
func Patience() time.Duration { return pace.Patience(2 * time.Minute) }

// Limit fails the test and kills a program that has not ended within Patience, so that
// who reads its output or waits for it comes to an end. The program ends at the latest
// when end is called.
func Limit(t testing.TB, cmd *exec.Cmd) (end func()) {
	t.Helper()
	timer := time.AfterFunc(Patience(), func() {
		t.Errorf("%s has not ended within %v", cmd, Patience())
		_ = cmd.Process.Kill()
	})
	return sync.OnceFunc(func() {
		timer.Stop()
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // or others wait for it
	})
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
