package testlimit

import "testing"

// Lossless calls try, which returns how many records the kernel lost. If any were lost, as
// may happen on a busy machine, it calls try once more. If records are lost again, the test
// fails: a tracer that loses records is broken. A try that lost records must not fail the
// test for wrong results.
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

// Enough calls run with a number of rounds. As long as run returns false, it calls run again, with
// three and with nine times as many rounds: on a busy host, a run may start its work late. If no run
// sees enough, the test fails.
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
