package testlimit

import "testing"

// Lossless tries what tells how many records the kernel lost, and once more if it lost
// any, as it may on a busy machine. If records are lost again the test fails: a tracer
// that loses records is broken. A try that lost some must not have reported what came
// of that.
func Lossless(t testing.TB, try func() (lost uint64)) {
	t.Helper()
	first := try()
	if first == 0 {
		return
	}
	t.Logf("%d records were lost: once more", first)
	if second := try(); second > 0 {
		t.Errorf("%d records were lost, and %d the second time", first, second)
	}
}
