package perfevent

import (
	"slices"
	"testing"
	"time"
)

// fakeBackward is the kernel's side of a ring that is written backward.
type fakeBackward struct {
	backward
	headWord uint64
}

func newFakeBackward(size int, start uint64) *fakeBackward {
	f := &fakeBackward{headWord: start}
	f.ring = newRing(0, &f.headWord, new(uint64), bytesOf(make([]uint64, size/8)))
	f.forget()
	return f
}

// write puts a record before the last one, over whatever is there.
func (f *fakeBackward) write(b []byte) {
	f.headWord -= uint64(len(b))
	for i, c := range b {
		f.data[(f.headWord+uint64(i))%uint64(len(f.data))] = c
	}
}

// times are those of the records that are kept, the oldest first.
func (f *fakeBackward) times() (times []uint64, overwritten bool) {
	entries, overwritten := f.kept()
	for _, e := range slices.Backward(entries) {
		times = append(times, e.time)
	}
	return times, overwritten
}

func TestABackwardRingKeepsWhatWasWrittenLast(t *testing.T) {
	const size = 4096
	each := len(smallSample(0))
	for _, test := range []struct {
		name        string
		start       uint64
		writes      int
		kept        int
		overwritten bool
	}{
		{"an empty ring", 0, 0, 0, false},
		{"a few records", 0, 3, 3, false},
		{"a few records across the end", 72, 3, 3, false},
		{"as many as fit", 0, size / each, size / each, false},
		{"one more", 0, size/each + 1, size / each, true},
		{"many rounds", 8, 1000, size / each, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newFakeBackward(size, test.start)
			for i := range test.writes {
				f.write(smallSample(uint64(i + 1)))
			}
			times, overwritten := f.times()
			var want []uint64
			for i := test.writes - test.kept; i < test.writes; i++ {
				want = append(want, uint64(i+1))
			}
			if !slices.Equal(times, want) || overwritten != test.overwritten {
				t.Errorf("kept %d, overwritten: %v; want %d, %v", times, overwritten, want, test.overwritten)
			}
		})
	}
}

func TestABackwardRingTellsNothingTwice(t *testing.T) {
	f := newFakeBackward(4096, 0)
	f.write(smallSample(1))
	f.forget()
	if times, _ := f.times(); times != nil {
		t.Errorf("kept %d", times)
	}
	f.write(smallSample(2))
	if times, overwritten := f.times(); !slices.Equal(times, []uint64{2}) || overwritten {
		t.Errorf("kept %d, overwritten: %v", times, overwritten)
	}
}

// A clock of 16 or 40 nanoseconds, as arm64 has, gives the records of one hit the
// same time: an entry must not come behind its return.
func TestRecordsOfOneTimeComeAsTheyWereWritten(t *testing.T) {
	f := newFakeBackward(4096, 0)
	for _, at := range []uint64{1, 2, 2, 2, 3} {
		f.write(smallSample(at))
	}
	kept := (&Recent{rings: []backward{f.backward}}).Read()
	last := uint64(0) // places fall
	for i, p := range kept.places {
		if i > 0 && p.pos >= last {
			t.Errorf("record %d, of time %d, was written before the one that it follows", i, p.time)
		}
		last = p.pos
	}
}

// An interrupt between the taking of a record's time and of its place writes its own
// record first: here three have, and the first of them was written at 14 at the latest.
func TestNothingIsMissingSinceTheLatestOfTheOldestRecords(t *testing.T) {
	f := newFakeBackward(4096, 0)
	for _, at := range []uint64{13, 12, 11, 14, 20, 21} {
		f.write(smallSample(at))
	}
	entries, _ := f.kept()
	if got := since(entries); got != 14 {
		t.Errorf("since %d, of times 13, 12, 11, 14, 20, 21", got)
	}
}

func TestCopiesOfTheStackFitWhatIsToBeKept(t *testing.T) {
	const ring, keep = 256 << 10, 4 * time.Second
	for _, test := range []struct {
		name     string
		sampling Sampling
		want     uint32
	}{
		{"a probe's grow at once", Sampling{Period: 1, UserStack: 512}, 2048},
		{"a probe's larger ones stay", Sampling{Period: 1, UserStack: 4096}, 4096},
		{"none stay none", Sampling{Period: 1}, 0},
		{"few samples stay", Sampling{Frequency: 1, UserStack: 32768}, 32768},
		{"more are cut to what fits", Sampling{Frequency: 16, UserStack: 32768}, 3968},
		{"but not to nothing", Sampling{Frequency: 999, UserStack: 32768}, 2048},
		{"small ones don't grow", Sampling{Frequency: 999, UserStack: 1024}, 1024},
	} {
		samplings := []Sampling{test.sampling}
		fitStacks(samplings, ring, RecentOptions{Keep: keep, UserStack: 2048})
		if got := samplings[0].UserStack; got != test.want {
			t.Errorf("%s: %d bytes, want %d", test.name, got, test.want)
		}
	}
}

func FuzzBackwardRing(f *testing.F) {
	three := append(append(smallSample(1), comm(3, "name")...), smallSample(2)...)
	f.Add(uint16(0), uint16(300), three)
	f.Add(uint16(4000), uint16(9000), three)
	f.Add(uint16(8), uint16(24), append(record(1, 0, nil), three...))
	f.Fuzz(func(t *testing.T, start, wrote uint16, content []byte) {
		const size = 4096
		fake := newFakeBackward(size, uint64(start)&^7)
		copy(fake.data, content)
		fake.headWord -= uint64(wrote) &^ 7
		d := testDecoder(0)
		entries, overwritten := fake.kept()
		taken := uint64(0)
		for _, e := range entries {
			b := fake.bytes(&e)
			taken += uint64(len(b))
			if rec, err := d.Decode(b); err == nil && rec.Common().Time != e.time {
				t.Errorf("the ring says time %d, the decoder %d", e.time, rec.Common().Time)
			}
		}
		if taken > size || !overwritten && taken > uint64(wrote) {
			t.Errorf("%d bytes of records, %d were written", taken, wrote)
		}
		since(entries)
	})
}
