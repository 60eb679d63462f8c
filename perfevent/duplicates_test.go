package perfevent

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestDuplicatesBindAThreadToItsFirstOrigin(t *testing.T) {
	var d duplicates
	steps := []struct {
		tid    uint32
		time   uint64
		origin int32
		want   bool
	}{
		{5, 100, 1, false}, {5, 101, 2, true}, {5, 110, 1, false}, // inherited and own
		{6, 100, 2, false}, {6, 101, 1, true},
		{7, 100, 1, false}, {7, 100, 1, false}, // one way only
	}
	for i, s := range steps {
		h := Header{TID: s.tid, Time: s.time, ID: uint64(s.origin)}
		if got := d.seen(&h, &eventInfo{origin: s.origin}, false); got != s.want {
			t.Errorf("step %d: thread %d from origin %d is a duplicate: %v", i, s.tid, s.origin, got)
		}
	}
	d.fork(5)
	if d.seen(&Header{TID: 5}, &eventInfo{origin: 2}, false) {
		t.Error("a new thread with an old number is bound to the old one's origin")
	}
}

func TestDuplicatesOfSharedEventsAreKnownByTheirTime(t *testing.T) {
	var d duplicates
	steps := []struct {
		name   string
		tid    uint32
		time   uint64
		origin int32 // -1: another session's id
		want   bool
	}{
		{"first hit", 5, 100, 1, false},
		{"its double", 5, 100, 1, true},
		{"its third", 5, 100, 1, true},
		{"a hit on another CPU, where the other origin comes first", 5, 200, 2, false},
		{"its double", 5, 200, 2, true},
		{"another thread at the same time", 6, 200, 2, false},
		{"a hit with a foreign id", 6, 300, -1, false},
		{"its double", 6, 300, -1, true},
	}
	for _, s := range steps {
		h := Header{TID: s.tid, Time: s.time, ID: uint64(s.origin + 10)}
		ev := &eventInfo{origin: s.origin}
		if s.origin < 0 {
			ev = nil
		}
		if got := d.seen(&h, ev, true); got != s.want {
			t.Errorf("%s: is a duplicate: %v", s.name, got)
		}
	}
	if d.seen(&Header{TID: 5, Time: 201}, &eventInfo{origin: 1}, false) {
		t.Error("a clock's sample is left out, though its origin was the first that was bound")
	}
}

func TestDuplicatesWithSeparateIDsAreNotTakenForShared(t *testing.T) {
	var d duplicates
	for i, want := range []bool{false, true, false, true} {
		h := Header{TID: 5, Time: uint64(i), ID: uint64(i % 2)}
		if got := d.seen(&h, &eventInfo{origin: int32(i % 2)}, true); got != want {
			t.Errorf("sample %d is a duplicate: %v", i, got)
		}
	}
}

// twiceRecorded is a session whose threads' samples may come twice.
func twiceRecorded() *Session {
	s := &Session{samplings: make([]Sampling, 1), accounts: make([]Account, 1), dec: *testDecoder(0)}
	s.duplicates.ambiguous = true
	s.compose()
	return s
}

func (s *Session) mustReceive(t *testing.T, b []byte) {
	t.Helper()
	if err := s.receive(b, func(Record) error { return nil }); err != nil {
		t.Fatal(err)
	}
}

// threadSample is a sample of a thread.
func threadSample(tid uint32) []byte {
	return record(unix.PERF_RECORD_SAMPLE, 0, body(nil).u64(testSampleID).u64(0x401000).u32(10).u32(tid).u64(1).u32(3).u32(0))
}

func TestThreadsThatEndedAreNoLongerKnownForTheirDoubles(t *testing.T) {
	s := twiceRecorded()
	const threads = 10_000
	for tid := uint32(100); tid < 100+threads; tid++ {
		s.mustReceive(t, threadSample(tid))
		s.mustReceive(t, trailed(unix.PERF_RECORD_EXIT, 0, 1, body(nil).u32(10).u32(1).u32(tid).u32(1).u64(1)))
	}
	if a := s.accounts[0]; a.Received != threads {
		t.Errorf("%+v, want %d received", a, threads)
	}
	if got, most := len(s.duplicates.bound), len(s.duplicates.ended)+2; got > most { // and who wrote the records
		t.Errorf("%d threads are known, want %d at most", got, most)
	}
}
