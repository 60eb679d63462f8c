package callchain

import (
	"slices"
	"testing"
)

func TestInternGivesEqualChainsOneID(t *testing.T) {
	in := NewInterner()
	chain := func(offsets ...uint64) (frames []Frame) {
		for _, o := range offsets {
			frames = append(frames, Frame{Object: 1, Offset: o})
		}
		return frames
	}
	first := in.Intern(chain(1, 2, 3), false)
	for _, test := range []struct {
		name      string
		frames    []Frame
		truncated bool
		same      bool
	}{
		{"the same chain", chain(1, 2, 3), false, true},
		{"the same chain, truncated", chain(1, 2, 3), true, false},
		{"another order", chain(3, 2, 1), false, false},
		{"a begin of it", chain(1, 2), false, false},
		{"another object", []Frame{{1, 1}, {1, 2}, {2, 3}}, false, false},
		{"no frames", nil, false, false},
	} {
		if got := in.Intern(test.frames, test.truncated); (got == first) != test.same {
			t.Errorf("%s has id %d, the first chain has %d", test.name, got, first)
		}
	}
	if in.Len() != 6 {
		t.Errorf("%d chains, want 6", in.Len())
	}
}

func TestInternedChainsOutliveTheirCallersBuffer(t *testing.T) {
	in := NewInterner()
	var buffer [64]Frame
	var chains [][]Frame
	for i := range 20_000 { // many chunks, and several sizes of the index
		frames := buffer[:i%len(buffer)]
		for j := range frames {
			frames[j] = Frame{Object: ObjectID(j), Offset: uint64(i)}
		}
		if id := in.Intern(frames, i%2 == 0); i >= 64 && len(frames) > 0 && int(id) != len(chains) {
			t.Fatalf("chain %d has id %d", len(chains), id)
		} else if int(id) == len(chains) {
			chains = append(chains, slices.Clone(frames))
		}
	}
	for id, want := range chains {
		if got, _ := in.Stack(StackID(id)); !slices.Equal(got, want) {
			t.Fatalf("chain %d is %v, want %v", id, got, want)
		}
	}
}

func TestAChainLongerThanAChunkIsKept(t *testing.T) {
	in := NewInterner()
	long := make([]Frame, 3*chunkFrames)
	long[len(long)-1].Offset = 7
	if got, _ := in.Stack(in.Intern(long, true)); !slices.Equal(got, long) {
		t.Error("the chain has changed")
	}
}

func TestARepeatedChainAllocatesNothing(t *testing.T) {
	in := NewInterner()
	frames := make([]Frame, 30)
	in.Intern(frames, false)
	if n := testing.AllocsPerRun(100, func() { in.Intern(frames, false) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestResetForgetsChainsAndTheirMemory(t *testing.T) {
	in := NewInterner()
	in.Intern(make([]Frame, 5), false)
	in.Reset()
	if in.Len() != 0 || in.Bytes() != 0 {
		t.Errorf("%d chains in %d bytes are left", in.Len(), in.Bytes())
	}
	if id := in.Intern(make([]Frame, 5), false); id != 0 {
		t.Errorf("the first id after Reset is %d", id)
	}
}
