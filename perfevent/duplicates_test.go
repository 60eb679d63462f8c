package perfevent

import (
	"testing"

	"golang.org/x/sys/unix"
)

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
