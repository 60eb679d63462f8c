package perfevent

import (
	"testing"

	"golang.org/x/sys/unix"
)

func BenchmarkDecodeSampleWith20Frames(b *testing.B) {
	d := testDecoder(unix.PERF_SAMPLE_CALLCHAIN | unix.PERF_SAMPLE_PERIOD)
	fields := sampleHead(1).u64(1).u64(20)
	for i := range 20 {
		fields = fields.u64(0x401000 + uint64(i))
	}
	rec := bytesOf(words(record(unix.PERF_RECORD_SAMPLE, unix.PERF_RECORD_MISC_USER, fields)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Decode(rec); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeMmap2(b *testing.B) {
	d := testDecoder(0)
	rec := trailed(unix.PERF_RECORD_MMAP2, 0, 1, make(body, 64).text("/usr/lib/x86_64-linux-gnu/libc.so.6"))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Decode(rec); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReadMergeDecode is the whole way from two full rings to the caller,
// per record.
func BenchmarkReadMergeDecode(b *testing.B) { benchmarkMerge(b, 2) }

// BenchmarkReadMergeDecode64CPUs is the same with many rings.
func BenchmarkReadMergeDecode64CPUs(b *testing.B) { benchmarkMerge(b, 64) }

func benchmarkMerge(b *testing.B, rings int) {
	const records = 1 << 14
	m := newFakeMerger(rings, 1<<22/rings)
	time := uint64(1)
	for range records {
		time++
		m.fakes[time*2654435761>>7%uint64(rings)].write(callchainSample(time, 20))
	}
	d := testDecoder(unix.PERF_SAMPLE_CALLCHAIN)
	n := 0
	handle := func(r *ring, rec []byte) error {
		n++
		_, err := d.Decode(rec)
		return err
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n < b.N {
		if err := m.round(true, handle); err != nil {
			b.Fatal(err)
		}
		for _, f := range m.fakes {
			f.tailWord = 0 // the same records once more
			f.next = 0
		}
		m.last = 0
	}
}

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
