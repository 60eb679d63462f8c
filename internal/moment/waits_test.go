package moment

import (
	"testing"
	"time"
)

// script is what a test does with waits: each step is a record, or a read.
type script struct {
	ws    waits
	exact map[sampled]bool
}

func newScript() *script {
	s := &script{ws: newWaits(), exact: make(map[sampled]bool)}
	s.ws.want(1)
	return s
}

// out and in are switches of thread 7 of process 1.
func (s *script) out(cpu uint32, at uint64) { s.ws.begins(1, sampled{cpu, 7, at}, copied{}) }
func (s *script) in(at uint64)              { s.ws.ends(7, at) }

// round reads, while something happens, and notes which samples that is exact for.
func (s *script) round(meanwhile func()) {
	read := s.ws.take(func(*wait) bool { return true }, time.Now().Add(time.Hour))
	meanwhile()
	for _, w := range read {
		if w.state == isRead {
			for _, sample := range w.samples {
				s.exact[sample] = true
			}
			w.state = isKnown
		}
	}
}

func nothing() {}

func TestOnlyThreadsThatHaveNotGoneOnAreReadExactly(t *testing.T) {
	for _, tt := range []struct {
		name  string
		do    func(s *script)
		exact []uint64
	}{
		{"a thread that waits", func(s *script) { s.out(0, 10); s.round(nothing) }, []uint64{10}},
		{"one that has gone on", func(s *script) { s.out(0, 10); s.in(20); s.round(nothing) }, nil},
		{"one that goes on while it is read", func(s *script) { s.out(0, 10); s.round(func() { s.in(20) }) }, nil},
		{"one that waits again by then", func(s *script) { s.out(0, 10); s.round(func() { s.in(20); s.out(0, 30) }) }, nil},
		{"its next wait", func(s *script) { s.out(0, 10); s.in(20); s.out(1, 30); s.round(nothing) }, []uint64{30}},
		{"its next wait, read later", func(s *script) {
			s.out(0, 10)
			s.round(func() { s.in(20); s.out(0, 30) })
			s.round(nothing)
		}, []uint64{30}},
		{"a wait is read once", func(s *script) { s.out(0, 10); s.round(nothing); s.in(20); s.round(nothing) }, []uint64{10}},
		{"the ring of the CPU where it went on is read first", func(s *script) { s.in(20); s.out(1, 30); s.out(0, 10); s.round(nothing) }, []uint64{30}},
		{"that ring tells only that it goes on", func(s *script) { s.out(1, 5); s.in(20); s.out(0, 10); s.round(nothing) }, nil},
		{"an old switch to it is told late", func(s *script) { s.out(0, 30); s.in(20); s.round(nothing) }, []uint64{30}},
		{"two events see it leave", func(s *script) { s.out(0, 10); s.out(0, 11); s.round(nothing) }, []uint64{10, 11}},
		{"two events see it leave that has gone on", func(s *script) { s.out(0, 10); s.out(0, 11); s.in(20); s.round(nothing) }, nil},
		{"it left another CPU: the switch to that is yet to be seen", func(s *script) { s.out(0, 10); s.out(1, 30); s.round(nothing) }, []uint64{30}},
		{"that is the first that is seen of it", func(s *script) { s.in(20); s.out(0, 10); s.round(nothing) }, nil},
		{"one that is read once more, as another program's", func(s *script) {
			s.out(0, 10)
			s.round(nothing)
			clear(s.exact)
			s.ws.want(1)
			s.round(nothing)
		}, []uint64{10}},
		{"records are missing", func(s *script) { s.out(0, 10); s.ws.miss(20); s.round(nothing) }, nil},
		{"records are missing while it is read", func(s *script) { s.out(0, 10); s.round(func() { s.ws.miss(20) }) }, nil},
		{"records are missing of a time before which it left, as is seen later", func(s *script) { s.ws.miss(20); s.out(0, 10); s.round(nothing) }, nil},
		{"it left after that", func(s *script) { s.ws.miss(20); s.out(0, 30); s.round(nothing) }, []uint64{30}},
		{"another process's", func(s *script) { s.ws.begins(2, sampled{0, 7, 10}, copied{}); s.round(nothing) }, nil},
		{"a process that is wanted while it waits", func(s *script) {
			s.ws.begins(2, sampled{0, 7, 10}, copied{})
			s.round(nothing)
			s.ws.want(2)
			s.round(nothing)
		}, []uint64{10}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript()
			tt.do(s)
			for _, at := range tt.exact {
				found := false
				for sample := range s.exact {
					found = found || sample.time == at
				}
				if !found {
					t.Errorf("the wait since %d is not exact", at)
				}
			}
			if len(s.exact) != len(tt.exact) {
				t.Errorf("exact are %v, want those since %v", s.exact, tt.exact)
			}
		})
	}
}

func TestThreadsForWhichThereIsNoTimeAreReadInTheNextRound(t *testing.T) {
	ws := newWaits()
	ws.want(1)
	for tid := range uint32(3) {
		ws.begins(1, sampled{0, tid, 10}, copied{})
	}
	for n := range 3 {
		if read := ws.take(func(*wait) bool { return true }, time.Time{}); len(read) != 1 || read[0].samples[0].tid != uint32(n) {
			t.Fatalf("round %d reads %d threads", n, len(read))
		}
	}
	if read := ws.take(func(*wait) bool { return true }, time.Time{}); len(read) != 0 {
		t.Errorf("%d threads are read again", len(read))
	}
}

func TestNoMoreIsKnownThanOfTheThreadsThatWereReadInTime(t *testing.T) {
	ws := newWaits()
	ws.want(1)
	known := func(want uint64) {
		t.Helper()
		if got := ws.known(100); got != want {
			t.Errorf("all is known until %d, want %d", got, want)
		}
	}
	take := func(n int) {
		t.Helper()
		if read := ws.take(func(*wait) bool { return true }, time.Time{}); len(read) != n {
			t.Errorf("%d are read, want %d", len(read), n)
		}
	}
	known(100)
	ws.begins(1, sampled{0, 7, 30}, copied{})
	ws.begins(1, sampled{1, 8, 20}, copied{}) // another CPU's ring
	ws.begins(1, sampled{1, 9, 40}, copied{})
	known(20)
	take(1)
	known(20)
	take(1)
	known(40)
	ws.ends(9, 50)
	known(100)
	ws.begins(1, sampled{0, 9, 60}, copied{})
	ws.now = maxQueued + 1
	known(60)
	take(0)
	known(100)
}

func TestAWaitThatWasAskedForIsNotRead(t *testing.T) {
	ws := newWaits()
	ws.want(1)
	ws.asked = 20
	ws.begins(1, sampled{0, 7, 10}, copied{})
	ws.begins(1, sampled{0, 8, 20}, copied{}) // is being asked for
	var read []uint32
	ws.take(func(w *wait) bool { read = append(read, w.samples[0].tid); return true }, time.Now().Add(time.Hour))
	if len(read) != 1 || read[0] != 8 {
		t.Errorf("the threads %d are read, want 8", read)
	}
}

func TestAThreadThatCanNotBeReadIsNotExact(t *testing.T) {
	s := newScript()
	s.out(0, 10)
	if read := s.ws.take(func(*wait) bool { return false }, time.Now().Add(time.Hour)); len(read) != 0 {
		t.Errorf("%d are read", len(read))
	}
}

func TestTheThreadsThatAreKnownAreBounded(t *testing.T) {
	ws := newWaits()
	for tid := range uint32(maxWaits + 10) {
		ws.begins(1, sampled{0, tid, 10}, copied{})
	}
	if len(ws.by) > maxWaits {
		t.Errorf("%d", len(ws.by))
	}
	// What was forgotten may have gone on.
	ws = newWaits()
	ws.want(1)
	ws.ends(1, 100)
	for tid := range uint32(maxWaits) {
		ws.begins(2, sampled{0, tid + 2, 50}, copied{})
	}
	ws.begins(1, sampled{1, 1, 60}, copied{})
	if read := ws.take(func(*wait) bool { return true }, time.Time{}); len(read) != 0 {
		t.Error("a thread is read that goes on")
	}
}
