package atsample

import (
	"testing"
	"time"
)

// script is what a test does with a waitTracker. Each step is a record or a round.
type script struct {
	tracker waitTracker
	exact   map[sampleKey]bool
}

func newScript() *script {
	s := &script{tracker: newWaitTracker(), exact: make(map[sampleKey]bool)}
	s.tracker.watch(1)
	return s
}

// out and in record switches of thread 7 of process 1.
func (s *script) out(cpu uint32, when uint64) {
	s.tracker.switchOut(1, sampleKey{cpu, 7, when}, stackCopy{})
}

func (s *script) in(when uint64) { s.tracker.switchIn(7, when) }

// round reads the queued threads, calls meanwhile, and notes for which samples the reading is exact.
func (s *script) round(meanwhile func()) {
	read := s.tracker.readQueued(func(*wait) bool { return true }, time.Now().Add(time.Hour))
	meanwhile()
	for _, w := range read {
		if w.state == waitRead {
			for _, sample := range w.samples {
				s.exact[sample] = true
			}
			w.state = waitConfirmed
		}
	}
}

func nothing() {}

func TestOnlyThreadsThatStillWaitAreReadExactly(t *testing.T) {
	for _, tt := range []struct {
		name  string
		do    func(s *script)
		exact []uint64
	}{
		{"a thread that waits", func(s *script) { s.out(0, 10); s.round(nothing) }, []uint64{10}},
		{"a thread that runs again", func(s *script) { s.out(0, 10); s.in(20); s.round(nothing) }, nil},
		{"a thread that runs again while it is read", func(s *script) { s.out(0, 10); s.round(func() { s.in(20) }) }, nil},
		{"a thread that runs and waits again while it is read", func(s *script) { s.out(0, 10); s.round(func() { s.in(20); s.out(0, 30) }) }, nil},
		{"its next wait", func(s *script) { s.out(0, 10); s.in(20); s.out(1, 30); s.round(nothing) }, []uint64{30}},
		{"its next wait, read later", func(s *script) {
			s.out(0, 10)
			s.round(func() { s.in(20); s.out(0, 30) })
			s.round(nothing)
		}, []uint64{30}},
		{"a wait is read once", func(s *script) { s.out(0, 10); s.round(nothing); s.in(20); s.round(nothing) }, []uint64{10}},
		{"the ring of the CPU where it ran again is decoded first", func(s *script) { s.in(20); s.out(1, 30); s.out(0, 10); s.round(nothing) }, []uint64{30}},
		{"that ring says only that it ran again", func(s *script) { s.out(1, 5); s.in(20); s.out(0, 10); s.round(nothing) }, nil},
		{"an old switch to it is decoded late", func(s *script) { s.out(0, 30); s.in(20); s.round(nothing) }, []uint64{30}},
		{"two events sample the switch", func(s *script) { s.out(0, 10); s.out(0, 11); s.round(nothing) }, []uint64{10, 11}},
		{"two events sample the switch of a thread that runs again", func(s *script) { s.out(0, 10); s.out(0, 11); s.in(20); s.round(nothing) }, nil},
		{"it left another CPU: the switch to it there is not decoded yet", func(s *script) { s.out(0, 10); s.out(1, 30); s.round(nothing) }, []uint64{30}},
		{"its first record is a switch to it", func(s *script) { s.in(20); s.out(0, 10); s.round(nothing) }, nil},
		{"a thread that is read again, of another program", func(s *script) {
			s.out(0, 10)
			s.round(nothing)
			clear(s.exact)
			s.tracker.watch(1)
			s.round(nothing)
		}, []uint64{10}},
		{"records are missing", func(s *script) { s.out(0, 10); s.tracker.markMissing(20); s.round(nothing) }, nil},
		{"records are missing while it is read", func(s *script) { s.out(0, 10); s.round(func() { s.tracker.markMissing(20) }) }, nil},
		{"records after its switch are missing, and the switch is decoded later", func(s *script) { s.tracker.markMissing(20); s.out(0, 10); s.round(nothing) }, nil},
		{"it left after that", func(s *script) { s.tracker.markMissing(20); s.out(0, 30); s.round(nothing) }, []uint64{30}},
		{"a thread of another process", func(s *script) { s.tracker.switchOut(2, sampleKey{0, 7, 10}, stackCopy{}); s.round(nothing) }, nil},
		{"a process that is watched while its thread waits", func(s *script) {
			s.tracker.switchOut(2, sampleKey{0, 7, 10}, stackCopy{})
			s.round(nothing)
			s.tracker.watch(2)
			s.round(nothing)
		}, []uint64{10}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScript()
			tt.do(s)
			for _, when := range tt.exact {
				found := false
				for sample := range s.exact {
					found = found || sample.time == when
				}
				if !found {
					t.Errorf("the wait since %d is not exact", when)
				}
			}
			if len(s.exact) != len(tt.exact) {
				t.Errorf("exact are %v, want those since %v", s.exact, tt.exact)
			}
		})
	}
}

func TestThreadsForWhichThereIsNoTimeAreReadInTheNextRound(t *testing.T) {
	tracker := newWaitTracker()
	tracker.watch(1)
	for tid := range uint32(3) {
		tracker.switchOut(1, sampleKey{0, tid, 10}, stackCopy{})
	}
	for n := range 3 {
		if read := tracker.readQueued(func(*wait) bool { return true }, time.Time{}); len(read) != 1 || read[0].samples[0].tid != uint32(n) {
			t.Fatalf("round %d reads %d threads", n, len(read))
		}
	}
	if read := tracker.readQueued(func(*wait) bool { return true }, time.Time{}); len(read) != 0 {
		t.Errorf("%d threads are read again", len(read))
	}
}

func TestWaitsAreKnownUpToTheOldestUnreadOne(t *testing.T) {
	tracker := newWaitTracker()
	tracker.watch(1)
	known := func(want uint64) {
		t.Helper()
		if got := tracker.completeBefore(100); got != want {
			t.Errorf("waits are known before %d, want %d", got, want)
		}
	}
	take := func(n int) {
		t.Helper()
		if read := tracker.readQueued(func(*wait) bool { return true }, time.Time{}); len(read) != n {
			t.Errorf("%d are read, want %d", len(read), n)
		}
	}
	known(100)
	tracker.switchOut(1, sampleKey{0, 7, 30}, stackCopy{})
	tracker.switchOut(1, sampleKey{1, 8, 20}, stackCopy{}) // in another CPU's ring
	tracker.switchOut(1, sampleKey{1, 9, 40}, stackCopy{})
	known(20)
	take(1)
	known(20)
	take(1)
	known(40)
	tracker.switchIn(9, 50)
	known(100)
	tracker.switchOut(1, sampleKey{0, 9, 60}, stackCopy{})
	tracker.now = maxQueueTime + 1
	known(60)
	take(0)
	known(100)
}

func TestAWaitThatWasAskedForIsNotRead(t *testing.T) {
	tracker := newWaitTracker()
	tracker.watch(1)
	tracker.askedUntil = 20
	tracker.switchOut(1, sampleKey{0, 7, 10}, stackCopy{})
	tracker.switchOut(1, sampleKey{0, 8, 20}, stackCopy{}) // is being asked for
	var read []uint32
	tracker.readQueued(func(w *wait) bool { read = append(read, w.samples[0].tid); return true }, time.Now().Add(time.Hour))
	if len(read) != 1 || read[0] != 8 {
		t.Errorf("the threads %d are read, want 8", read)
	}
}

func TestAThreadThatCanNotBeReadIsNotExact(t *testing.T) {
	s := newScript()
	s.out(0, 10)
	if read := s.tracker.readQueued(func(*wait) bool { return false }, time.Now().Add(time.Hour)); len(read) != 0 {
		t.Errorf("%d are read", len(read))
	}
}

func TestTheNumberOfThreadsIsBounded(t *testing.T) {
	tracker := newWaitTracker()
	for tid := range uint32(maxThreads + 10) {
		tracker.switchOut(1, sampleKey{0, tid, 10}, stackCopy{})
	}
	if len(tracker.byTID) > maxThreads {
		t.Errorf("%d", len(tracker.byTID))
	}
	// A thread that was forgotten may have run since.
	tracker = newWaitTracker()
	tracker.watch(1)
	tracker.switchIn(1, 100)
	for tid := range uint32(maxThreads) {
		tracker.switchOut(2, sampleKey{0, tid + 2, 50}, stackCopy{})
	}
	tracker.switchOut(1, sampleKey{1, 1, 60}, stackCopy{})
	if read := tracker.readQueued(func(*wait) bool { return true }, time.Time{}); len(read) != 0 {
		t.Error("a thread that runs is read")
	}
}
