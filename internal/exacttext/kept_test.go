package exacttext

import "testing"

func TestAThreadFindsWhatItHasKept(t *testing.T) {
	var k keptValues
	k.makeRoom([]wanted{{Keeps: []Keep{{Slot: 2}}}})
	k.keep(1, 7, 70)
	k.keep(2, 7, 71)
	k.keep(1, 8, 80)
	if k.of(1, 7) != 70 || k.of(2, 7) != 71 || k.of(1, 8) != 80 || k.of(2, 8) != 0 || k.of(3, 7) != 0 {
		t.Error("it finds", k.of(1, 7), k.of(2, 7), k.of(1, 8), k.of(2, 8), k.of(3, 7))
	}
	k.keep(1, 7+keptThreads, 90) // in the same place
	if k.of(1, 7) != 0 || k.of(1, 7+keptThreads) != 90 {
		t.Error("another thread's value is", k.of(1, 7))
	}
}
