package perfevent

import (
	"testing"

	"golang.org/x/sys/unix"
)

// BenchmarkReceive is what the session does for a record between ring and caller: it
// decodes it, and has it pass the stages.
func BenchmarkReceive(b *testing.B) {
	for _, test := range []struct {
		name    string
		session func() *Session
	}{
		{"process", func() *Session { return &Session{children: make(children)} }},
		{"filtered", func() *Session {
			return &Session{filter: newPIDFilter(Process(10), []watched{{pid: 10}}, nil)}
		}},
	} {
		b.Run(test.name, func(b *testing.B) {
			s := test.session()
			s.accounts, s.dec = make([]Account, 1), *testDecoder(unix.PERF_SAMPLE_CALLCHAIN)
			s.compose()
			record := callchainSample(5, 20)
			n := 0
			handle := func(Record) error { n++; return nil }
			b.ReportAllocs()
			for b.Loop() {
				if err := s.receive(record, handle); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
