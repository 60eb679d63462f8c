package pace

import "testing"

// Lossless tries a test a second time if the kernel lost records of the first, as a busy
// machine may have it do. If they are lost again the test fails: a tracer that loses
// records is broken. A try that lost some must not have reported what came of that.
func Lossless(t *testing.T, try func(t *testing.T) (lost uint64)) {
	t.Helper()
	lost := try(t)
	if lost == 0 {
		return
	}
	t.Logf("%d records were lost: once more", lost)
	if lost = try(t); lost > 0 {
		t.Errorf("%d records were lost, for the second time", lost)
	}
}
