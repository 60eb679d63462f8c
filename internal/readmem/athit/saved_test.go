package athit

import "testing"

func TestAThreadFindsThePointersThatItHasSaved(t *testing.T) {
	var p savedPointers
	p.makeRoom([]Event{{Saves: []Pointer{{Saved: 2}}}})
	p.save(1, 7, 70)
	p.save(2, 7, 71)
	p.save(1, 8, 80)
	if p.of(1, 7) != 70 || p.of(2, 7) != 71 || p.of(1, 8) != 80 || p.of(2, 8) != 0 || p.of(3, 7) != 0 {
		t.Error("it finds", p.of(1, 7), p.of(2, 7), p.of(1, 8), p.of(2, 8), p.of(3, 7))
	}
	p.save(1, 7+savedThreads, 90) // in the same place
	if p.of(1, 7) != 0 || p.of(1, 7+savedThreads) != 90 {
		t.Error("another thread's value is", p.of(1, 7))
	}
}
