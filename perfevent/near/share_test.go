package near

import "testing"

func TestAThreadRestsOverItsShareUntilItHasSavedHalfASecondsWorth(t *testing.T) {
	const ms = 1_000_000
	s := newShare(0.02, 0, 0)
	now, cpu := uint64(0), uint64(0)
	step := func(passed, used uint64) bool {
		now, cpu = now+passed, cpu+used
		return s.rests(now, cpu)
	}
	for range 100 {
		if step(100*ms, 2*ms) {
			t.Fatal("it rests though it uses just its share")
		}
	}
	if !step(100*ms, 13*ms) {
		t.Fatal("it goes on without anything left")
	}
	if !step(400*ms, 0) {
		t.Error("it goes on too soon")
	}
	if step(200*ms, 0) {
		t.Error("it rests too long")
	}
	if step(1000*1000*ms, 0) || step(1*ms, 19*ms) {
		t.Error("it rests though a second's worth was saved")
	}
	if !step(1*ms, 2*ms) {
		t.Error("more than a second's worth was saved")
	}
}
