package perfevent

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// fakeRing is the kernel's side of a ring: it writes where the kernel would.
type fakeRing struct {
	*ring
	headWord, tailWord uint64
}

func newFakeRing(size int, start uint64) *fakeRing {
	f := &fakeRing{headWord: start, tailWord: start}
	f.ring = newRing(0, &f.headWord, &f.tailWord, bytesOf(make([]uint64, size/8)))
	return f
}

// write appends a record if there is room for it.
func (f *fakeRing) write(b []byte) bool {
	if f.headWord-f.tailWord+uint64(len(b)) > uint64(len(f.data)) {
		return false
	}
	for i, c := range b {
		f.data[(f.headWord+uint64(i))%uint64(len(f.data))] = c
	}
	f.headWord += uint64(len(b))
	return true
}

// times reads all that is in the ring.
func (f *fakeRing) times() []uint64 {
	f.snapshot()
	var times []uint64
	for e := f.peek(); e != nil; e = f.peek() {
		times = append(times, e.time)
		f.take()
	}
	f.release()
	return times
}

func comm(time uint64, name string) []byte {
	return trailed(unix.PERF_RECORD_COMM, 0, time, body(nil).u32(1).u32(1).text(name))
}

// The kernel makes such samples of 32-bit programs.
func TestRingReadsRecordsThatBeginAmidAWord(t *testing.T) {
	for start := uint64(0); start < 256; start += 8 {
		f := newFakeRing(256, 3*256+start)
		odd := append(smallSample(1), 1, 2, 3, 4)
		binary.LittleEndian.PutUint16(odd[6:], uint16(len(odd)))
		want := [][]byte{odd, smallSample(2), comm(3, "a name"), smallSample(4)}
		for _, b := range want {
			if !f.write(b) {
				t.Fatal("the test's ring is too small")
			}
		}
		f.snapshot()
		for i, b := range want {
			e := f.peek()
			if e == nil {
				t.Fatalf("from %d, record %d is missing", start, i)
			}
			if got := f.bytes(e); !bytes.Equal(got, b) || e.time != uint64(i+1) {
				t.Errorf("from %d, record %d of time %d reads\n%x, want\n%x", start, i, e.time, got, b)
			}
			f.take()
		}
		if f.malformed != 0 {
			t.Errorf("from %d, %d records are malformed", start, f.malformed)
		}
	}
}

func TestRingReadsRecordsAroundItsEnd(t *testing.T) {
	f := newFakeRing(256, 3*256+200)
	want := [][]byte{smallSample(1), comm(2, "a rather long name"), smallSample(3)}
	for _, b := range want {
		if !f.write(b) {
			t.Fatal("the test's ring is too small")
		}
	}
	f.snapshot()
	for i, b := range want {
		e := f.peek()
		if e == nil {
			t.Fatalf("record %d is missing", i)
		}
		if got := f.bytes(e); !bytes.Equal(got, b) {
			t.Errorf("record %d reads\n%x, want\n%x", i, got, b)
		}
		f.take()
	}
	if e := f.peek(); e != nil {
		t.Errorf("a fourth record: %v", *e)
	}
}

func TestRingPutsRecordsOfInterruptedWritersInOrder(t *testing.T) {
	f := newFakeRing(4096, 0)
	for _, time := range []uint64{1, 5, 6, 7, 8, 4, 9, 2, 10, 11, 12, 13, 14, 15, 16, 17, 3, 18} {
		f.write(smallSample(time))
	}
	// 2 was interrupted by seven others, as many as the window can hold beside
	// it; 3 by more, and stays late by what is over.
	want := []uint64{1, 2, 4, 5, 6, 7, 8, 9, 10, 3, 11, 12, 13, 14, 15, 16, 17, 18}
	if diff := cmp.Diff(want, f.times()); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestRingGivesBackOnlyWhatWasTaken(t *testing.T) {
	f := newFakeRing(4096, 0)
	for _, time := range []uint64{2, 1, 3} {
		f.write(smallSample(time))
	}
	f.snapshot()
	if e := f.peek(); e.time != 1 {
		t.Fatalf("first record has time %d, want 1", e.time)
	}
	f.take()
	f.release()
	if f.tailWord != 0 {
		t.Fatalf("tail is %d while the record at 0 is still in the window", f.tailWord)
	}
	f.peek()
	f.take()
	f.release()
	if f.tailWord != 2*minSampleSize {
		t.Errorf("tail is %d after the first two records, want %d", f.tailWord, 2*minSampleSize)
	}
}

func TestRingSeesNothingBeyondItsSnapshot(t *testing.T) {
	f := newFakeRing(4096, 0)
	f.write(smallSample(1))
	f.snapshot()
	f.write(smallSample(2))
	f.peek()
	f.take()
	if e := f.peek(); e != nil {
		t.Errorf("a record that was written after the snapshot: time %d", e.time)
	}
}

func TestRingGoesOnAfterMalformedData(t *testing.T) {
	withSize := func(size uint16) []byte {
		b := smallSample(2)
		binary.LittleEndian.PutUint16(b[6:], size)
		return b
	}
	odd := comm(2, "a name")
	binary.LittleEndian.PutUint16(odd[6:], uint16(len(odd)-4))
	tests := []struct {
		name string
		bad  []byte
		lost int // how many of the good records after it cannot be found
	}{
		{"too short for a time", record(unix.PERF_RECORD_COMM, 0, body(nil).u64(0)), 0},
		{"a sample without its CPU", record(unix.PERF_RECORD_SAMPLE, 0, sampleHead(1)[:32]), 0},
		{"size zero", withSize(0), 1},
		{"size below the header's", withSize(4), 1},
		{"size that is no multiple of 8, of what is no sample", odd, 1},
		{"size beyond what was written", withSize(65528), 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFakeRing(4096, 4096-8)
			f.write(smallSample(1))
			f.write(tt.bad)
			f.write(smallSample(3))
			if got, want := len(f.times()), 2-tt.lost; got != want {
				t.Errorf("%d records, want %d", got, want)
			}
			if f.malformed != 1 {
				t.Errorf("malformed = %d, want 1", f.malformed)
			}
			if f.tailWord != f.headWord {
				t.Errorf("%d bytes were not given back", f.headWord-f.tailWord)
			}
			f.write(smallSample(4))
			if diff := cmp.Diff([]uint64{4}, f.times()); diff != "" {
				t.Errorf("records of the next round (-want +got):\n%s", diff)
			}
		})
	}
}

// Records are seen once each, in the ring's own order, whatever of them has been
// handed on by then, and also around the ring's end.
func TestRecordsAreSeenOnceBeforeTheyAreHandedOn(t *testing.T) {
	f := newFakeRing(512, 3*512+400)
	var seen []uint64
	see := func(b []byte) {
		record, err := testDecoder(0).Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, record.Common().Time)
	}
	look := func() {
		f.snapshot()
		f.scan(see)
	}
	look()
	f.write(smallSample(7))
	f.write(smallSample(5)) // of an interrupt, written later
	look()
	look()
	f.write(comm(9, "name"))
	if got := f.times(); !slices.Equal(got, []uint64{5, 7, 9}) {
		t.Errorf("handed on %d", got)
	}
	// What was handed on without having been seen is gone.
	for time := uint64(10); time < 30; time++ {
		if !f.write(smallSample(time)) {
			t.Fatal("the test's ring is too small")
		}
		look()
		if time%3 == 0 {
			f.times()
		}
	}
	want := []uint64{7, 5}
	for time := uint64(10); time < 30; time++ {
		want = append(want, time)
	}
	if !slices.Equal(seen, want) {
		t.Errorf("seen %d\nwant %d", seen, want)
	}
}

func TestSizesThatMakeNoSenseEndTheLook(t *testing.T) {
	f := newFakeRing(512, 0)
	f.write(smallSample(1))
	bad := smallSample(2)
	bad[6], bad[7] = 3, 0
	f.write(bad)
	f.write(smallSample(3))
	n := 0
	f.snapshot()
	f.scan(func([]byte) { n++ })
	f.scan(func([]byte) { n++ })
	if n != 1 {
		t.Errorf("%d records are seen, want 1", n)
	}
}

func FuzzRing(f *testing.F) {
	three := append(append(smallSample(1), comm(3, "name")...), smallSample(2)...)
	f.Add(uint16(0), three)
	f.Add(uint16(4000), three)
	f.Add(uint16(8), append(record(1, 0, nil), three...))
	f.Fuzz(func(t *testing.T, start uint16, content []byte) {
		const size = 4096
		content = content[:min(len(content), size)&^7]
		fake := newFakeRing(size, uint64(start)&^7)
		if !fake.write(content) {
			t.Fatal("the content does not fit")
		}
		fake.snapshot()
		d := testDecoder(unix.PERF_SAMPLE_CALLCHAIN)
		taken := uint64(0)
		for e := fake.peek(); e != nil; e = fake.peek() {
			b := fake.bytes(e)
			if uint32(len(b)) != e.size {
				t.Fatalf("a record of %d bytes reads as %d", e.size, len(b))
			}
			taken += uint64(len(b))
			if rec, err := d.Decode(b); err == nil && rec.Common().Time != e.time {
				t.Errorf("the ring says time %d, the decoder %d", e.time, rec.Common().Time)
			}
			fake.take()
			fake.release()
			if fake.tailWord > fake.headWord || fake.headWord-fake.tailWord > uint64(len(content)) {
				t.Fatalf("tail %d, head %d", fake.tailWord, fake.headWord)
			}
		}
		fake.release()
		if fake.tailWord != fake.headWord {
			t.Errorf("%d bytes were not given back", fake.headWord-fake.tailWord)
		}
		if taken > uint64(len(content)) {
			t.Errorf("%d bytes of records in %d bytes", taken, len(content))
		}
	})
}
