package stack

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

func TestReadsAreMetered(t *testing.T) {
	now := time.Unix(1, 0)
	m := &metered{mem: interp.Image{{Addr: 0, Bytes: make([]byte, 1<<20)}}, full: now, refused: new(atomic.Bool)}
	m.refill(now.Add(time.Second / 4))
	if m.left != readsASecond/4 {
		t.Errorf("%d reads are granted, want %d", m.left, readsASecond/4)
	}
	m.refill(now.Add(time.Hour))
	if m.left != readsAtOnce {
		t.Errorf("%d reads are granted, want %d", m.left, readsAtOnce)
	}
	m.left, m.full = 2, time.Now().Add(time.Hour)
	for _, test := range []struct {
		size int
		want bool
	}{{8, true}, {readSize, false}, {8, true}, {8, false}} {
		if got := m.Read(0, make([]byte, test.size)); got != test.want {
			t.Errorf("a read of %d bytes with %d left: %v", test.size, m.left, got)
		}
		m.full = time.Now().Add(time.Hour) // nothing is due
		m.left = max(m.left, 0)
	}
	if err := m.errRefused(); err == nil || !m.refused.Load() {
		t.Error("it does not say that reads were refused")
	}
	if err := m.errRefused(); err != nil {
		t.Errorf("it says so again: %v", err)
	}
}
