package perfevent

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// fakeMerger merges fake rings by a clock that the test sets.
type fakeMerger struct {
	merger
	now   uint64
	fakes []*fakeRing
	got   []uint64 // times handed on
}

func newFakeMerger(rings, size int) *fakeMerger {
	f := &fakeMerger{now: 1}
	f.clock = func() uint64 { return f.now }
	for range rings {
		r := newFakeRing(size, 0)
		f.fakes = append(f.fakes, r)
		f.rings = append(f.rings, r.ring)
	}
	return f
}

func (f *fakeMerger) take(r *ring, b []byte) error {
	rec, err := testDecoder(0).Decode(b)
	if err != nil {
		return err
	}
	f.got = append(f.got, rec.Common().Time)
	return nil
}

// step sets the clock, runs one round and returns what it handed on.
func (f *fakeMerger) step(t *testing.T, now uint64, drain bool) []uint64 {
	t.Helper()
	f.now, f.got = now, nil
	if err := f.round(drain, f.take); err != nil {
		t.Fatal(err)
	}
	return f.got
}

const ms = 1_000_000

func TestMergeHoldsARecordUntilNoEarlierOneCanCome(t *testing.T) {
	f := newFakeMerger(2, 1<<16)
	f.fakes[0].write(smallSample(8 * ms))
	if got := f.step(t, 10*ms, false); len(got) != 0 {
		t.Fatalf("the first round handed on %v", got)
	}
	// Written after the first look, but with an earlier time: the other CPU
	// was slow.
	f.fakes[1].write(smallSample(7 * ms))
	f.fakes[0].write(smallSample(15 * ms))
	if diff := cmp.Diff([]uint64{7 * ms, 8 * ms}, f.step(t, 20*ms, false)); diff != "" {
		t.Errorf("second round (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]uint64{15 * ms}, f.step(t, 30*ms, false)); diff != "" {
		t.Errorf("third round (-want +got):\n%s", diff)
	}
	if f.breaks != 0 {
		t.Errorf("%d order breaks", f.breaks)
	}
}

func TestMergeDoesNotTrustARoundThatWasJustNow(t *testing.T) {
	f := newFakeMerger(1, 1<<16)
	f.fakes[0].write(smallSample(9 * ms))
	f.step(t, 10*ms, false)
	if got := f.step(t, 10*ms+settle-1, false); len(got) != 0 {
		t.Errorf("handed on %v within the settling time", got)
	}
	if got := f.step(t, 10*ms+settle, false); len(got) != 1 {
		t.Errorf("handed on %v after the settling time, want one record", got)
	}
}

func TestMergeHandsOnEverythingAtTheEnd(t *testing.T) {
	f := newFakeMerger(3, 1<<16)
	f.fakes[2].write(smallSample(5 * ms))
	f.fakes[0].write(smallSample(90 * ms))
	f.fakes[1].write(smallSample(7 * ms))
	if diff := cmp.Diff([]uint64{5 * ms, 7 * ms, 90 * ms}, f.step(t, 10*ms, true)); diff != "" {
		t.Errorf("drain (-want +got):\n%s", diff)
	}
	for i, r := range f.fakes {
		if r.headWord != r.tailWord {
			t.Errorf("ring %d was not given back", i)
		}
	}
}

func TestMergePrefersOrderBreaksToLoss(t *testing.T) {
	f := newFakeMerger(2, 1024)
	for i := range uint64(12) { // 576 of 1024 bytes
		f.fakes[0].write(smallSample(5*ms + i))
	}
	if got := f.step(t, 10*ms, false); len(got) != 12 {
		t.Fatalf("under pressure %d records were handed on at once, want 12", len(got))
	}
	f.fakes[1].write(smallSample(5 * ms))
	if got := f.step(t, 20*ms, false); len(got) != 1 || f.breaks != 1 {
		t.Errorf("a late record: handed on %v with %d breaks, want it with one break", got, f.breaks)
	}
}

// A caller that compares a record with those that come a moment later has been offered them.
func TestMergeKeepsWhatWasOfferedAMillisecondAheadOfWhatItHandsOn(t *testing.T) {
	f := newFakeMerger(1, 1<<12)
	offered := 0
	f.unordered = func([]byte) { offered++ }
	for i := range uint64(60) { // 2880 of 4096 bytes
		f.fakes[0].write(smallSample(10*ms + i*ms/20))
	}
	got := f.step(t, 13*ms, false)
	if offered != 60 || len(got) != 40 || got[39] != 12*ms-ms/20 {
		t.Errorf("of 60 records until 13 ms, %d were offered, and those of %v handed on; want all, and those before 12 ms", offered, got)
	}
}

func TestMergeGivesRoomBackWhileItReads(t *testing.T) {
	f := newFakeMerger(1, 1<<16)
	for i := range uint64(600) {
		f.fakes[0].write(smallSample(i + 1))
	}
	handed := 0
	err := f.round(true, func(*ring, []byte) error {
		handed++
		// What the kernel may write to must not contain this record.
		if given := f.fakes[0].tailWord; given > uint64(handed-1)*minSampleSize {
			t.Fatalf("record %d starts at %d, but %d bytes were given back", handed, (handed-1)*minSampleSize, given)
		}
		return nil
	})
	if err != nil || handed != 600 {
		t.Fatalf("handed on %d records, error %v", handed, err)
	}
}

func TestMergeReturnsTheCallersErrorAndGoesOnAfterIt(t *testing.T) {
	f := newFakeMerger(2, 1<<16)
	f.fakes[0].write(smallSample(1))
	f.fakes[1].write(smallSample(2))
	f.fakes[0].write(smallSample(3))
	stop := errors.New("enough")
	if err := f.round(true, func(*ring, []byte) error { return stop }); err != stop {
		t.Fatalf("round gives %v, want the caller's error", err)
	}
	if diff := cmp.Diff([]uint64{2, 3}, f.step(t, 10*ms, true)); diff != "" {
		t.Errorf("the next round (-want +got):\n%s", diff)
	}
}

func TestMergeOrdersManyRings(t *testing.T) {
	const rings, records = 13, 3000
	f := newFakeMerger(rings, 1<<16)
	random := rand.New(rand.NewPCG(1, 2))
	var want, got []uint64
	now := uint64(10 * ms)
	for len(want) < records {
		for range random.IntN(200) {
			now += uint64(random.IntN(ms))
			if f.fakes[random.IntN(rings)].write(smallSample(now)) {
				want = append(want, now)
			}
		}
		now++
		got = append(got, f.step(t, now, false)...)
	}
	got = append(got, f.step(t, now, true)...)
	if !slices.Equal(got, want) || f.breaks != 0 {
		t.Errorf("%d records handed on with %d breaks, want %d in the order they were written", len(got), f.breaks, len(want))
	}
}

func TestWithoutOrderEachRingIsHandedOnAtOnce(t *testing.T) {
	f := newFakeMerger(2, 1<<16)
	f.anyOrder = true
	f.fakes[0].write(smallSample(8 * ms))
	f.fakes[0].write(smallSample(9 * ms))
	f.fakes[1].write(smallSample(7 * ms))
	if diff := cmp.Diff([]uint64{8 * ms, 9 * ms, 7 * ms}, f.step(t, 10*ms, false)); diff != "" {
		t.Errorf("the first round (-want +got):\n%s", diff)
	}
	if got := f.step(t, 20*ms, true); len(got) != 0 || f.breaks != 0 {
		t.Errorf("then %v, %d of them too late", got, f.breaks)
	}
	for i, fake := range f.fakes {
		if *fake.tail != *fake.head {
			t.Errorf("the kernel does not get all of ring %d back", i)
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
