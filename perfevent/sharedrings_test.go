package perfevent

import (
	"bytes"
	"testing"
)

func TestAFollowerKnowsWhenRecordsMayBeMissing(t *testing.T) {
	record := smallSample(1)
	size := uint64(len(record))
	f := newFakeRing(4096, 4096-24)
	half := 2048 / int(size)
	r := &CPURing{ring: mappedRing{ring: f.ring}}
	r.Follow()
	// write has the kernel write records, and the ring's reader take some.
	write := func(written, taken int) {
		for range written {
			if !f.write(record) {
				t.Fatal("the test's ring is full")
			}
		}
		f.tailWord += uint64(taken) * size
	}
	for _, step := range []struct {
		name           string
		written, taken int
		missing        bool
	}{
		{"a few", 2, 0, false},
		{"the reader has taken them, and there are as many as half the ring has room for", half - 2, 2, false},
		{"more than half of the ring is full", 3, 0, true},
		{"it was until the reader took all", 0, half + 1, true},
		{"it is empty since", 0, 0, false},
		{"it was full a moment ago", half, half, false},
	} {
		write(step.written, step.taken)
		r.Look()
		n := 0
		for r.Next() != nil {
			n++
		}
		if n != step.written || r.Missing() != step.missing {
			t.Errorf("%s: %d records, missing %t; want %d, %t", step.name, n, r.Missing(), step.written, step.missing)
		}
	}
	// What it has not taken may wait for as long as it is less than half of the ring.
	write(half-1, half-1)
	if r.Look(); r.Missing() {
		t.Error("records are missing though they are in the ring")
	}
	write(2, 2)
	if r.Look(); !r.Missing() || r.Next() != nil {
		t.Errorf("what may be written over is not left out: missing %t", r.Missing())
	}
}

// In a large ring there is room for every record up to the last 66 KiB.
func TestRecordsMayBeMissingWhereTheLargestHasNoRoom(t *testing.T) {
	const size = 1 << 20
	record := smallSample(1)
	f := newFakeRing(size, 0)
	r := &CPURing{ring: mappedRing{ring: f.ring}}
	fill := func(most int) {
		for int(f.headWord-f.tailWord)+len(record) <= most && f.write(record) {
		}
	}
	look := func() bool {
		r.Look()
		for r.Next() != nil {
		}
		return r.Missing()
	}
	const safe = size - mostRoom
	if fill(safe); look() {
		t.Error("records are missing though the largest had room")
	}
	if fill(safe + len(record)); !look() {
		t.Error("no record is missing though the largest had no room")
	}
	r.Release()
	if !look() {
		t.Error("no record is missing though that was so until the release")
	}
	if look() {
		t.Error("records are missing though the ring is empty")
	}
}

// FuzzCPURing takes whatever a ring holds in the order in which it lies there.
func FuzzCPURing(f *testing.F) {
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
		r := CPURing{ring: mappedRing{ring: fake.ring}}
		r.Look()
		taken := 0
		for b := r.Next(); b != nil; b = r.Next() {
			if !bytes.Equal(b, content[taken:taken+len(b)]) {
				t.Fatalf("%d bytes from %d on are others", len(b), taken)
			}
			taken += len(b)
		}
		if taken < len(content) && r.Malformed() == 0 {
			t.Errorf("%d of %d bytes were taken", taken, len(content))
		}
		r.Release()
		if fake.tailWord != fake.headWord {
			t.Errorf("%d bytes were not given back", fake.headWord-fake.tailWord)
		}
	})
}
