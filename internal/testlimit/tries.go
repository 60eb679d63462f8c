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

// Enough has a test run its program for so many rounds, and for three and for nine times as many
// where the run before did not show enough: on a busy host, what has to begin first comes late. It
// fails the test if even the longest did not.
func Enough(t testing.TB, rounds int, run func(rounds int) (enough bool)) {
	t.Helper()
	for _, times := range [...]int{1, 3, 9} {
		if run(times * rounds) {
			return
		}
		t.Logf("too little is seen in %d rounds", times*rounds)
	}
	t.Error("too little is seen, however long the program runs")
}
