package stack

import "testing"

func TestACallsReturnIsKnownUntilAnotherTakesItsPlace(t *testing.T) {
	const tid = 7
	r := make(returns)
	know := func(cfa, want uint64) {
		t.Helper()
		if got, ok := r[tid].Return(cfa); got != want || ok != (want != 0) {
			t.Errorf("below %#x it returns to %#x, want %#x", cfa, got, want)
		}
	}
	know(0x1000, 0)
	r.note(tid, 0x1000, 1)
	r.note(tid, 0x0f00, 2)
	r.note(tid, 0x0e00, 3)
	know(0x1000, 1)
	know(0x0e00, 3)
	know(0x0e08, 0)
	r.note(tid, 0x0f80, 4) // those of 0xf00 and 0xe00 have returned
	know(0x1000, 1)
	know(0x0f80, 4)
	know(0x0e00, 0)
	r.note(tid, 0x0f80, 5) // a loop
	know(0x0f80, 5)
	if got, ok := r[tid+1].Return(0x1000); ok {
		t.Errorf("another thread returns to %#x", got)
	}
}

func TestReturnsAreBounded(t *testing.T) {
	r := make(returns)
	for i := range uint64(2 * maxReturns) {
		r.note(1, 1<<20-8*i, i)
	}
	if n := len(r[1].calls); n != maxReturns {
		t.Errorf("%d calls of a thread are known", n)
	}
	if got, ok := r[1].Return(1 << 20); got != 0 || !ok {
		t.Error("the outermost call is forgotten")
	}
	for tid := range uint32(2*maxThreads + 5) {
		r.note(tid, 8, 1)
	}
	if len(r) > maxThreads {
		t.Errorf("%d threads are known", len(r))
	}
}
