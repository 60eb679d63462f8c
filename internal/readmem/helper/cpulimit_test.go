package helper

import "testing"

func TestAThreadPausesOverItsShareUntilHalfASecondsWorthIsSaved(t *testing.T) {
	const ms = 1_000_000
	l := newCPULimit(0.02, 0, 0)
	now, cpu := uint64(0), uint64(0)
	step := func(passed, used uint64) bool {
		now, cpu = now+passed, cpu+used
		return l.update(now, cpu)
	}
	for range 100 {
		if step(100*ms, 2*ms) {
			t.Fatal("paused though it used just its share")
		}
	}
	if !step(100*ms, 13*ms) {
		t.Fatal("not paused though nothing is available")
	}
	if !step(400*ms, 0) {
		t.Error("the pause ended too early")
	}
	if step(200*ms, 0) {
		t.Error("the pause lasted too long")
	}
	if step(1000*1000*ms, 0) || step(1*ms, 19*ms) {
		t.Error("paused though a second's worth was saved")
	}
	if !step(1*ms, 2*ms) {
		t.Error("more than a second's worth was saved")
	}
}
