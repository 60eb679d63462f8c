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
		{"another object", []Frame{{Object: 1, Offset: 1}, {Object: 1, Offset: 2}, {Object: 2, Offset: 3}}, false, false},
		{"a return address there", []Frame{{Object: 1, Offset: 1}, {Object: 1, Offset: 2}, {Object: 1, Return: true, Offset: 3}}, false, false},
		{"no frames", nil, false, false},
	} {
		if got := in.Intern(test.frames, test.truncated); (got == first) != test.same {
			t.Errorf("%s has id %d, the first chain has %d", test.name, got, first)
		}
	}
	if in.Len() != 7 {
		t.Errorf("%d chains, want 7", in.Len())
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

func TestSweepForgetsChainsAndTheirMemory(t *testing.T) {
	in := NewInterner()
	in.Intern(make([]Frame, 5), false)
	in.Sweep()
	if in.Len() != 0 || in.Bytes() != 0 {
		t.Errorf("%d chains in %d bytes are left", in.Len(), in.Bytes())
	}
	if id := in.Intern(make([]Frame, 5), false); id != 0 {
		t.Errorf("the first id after Sweep is %d", id)
	}
}

func TestAKeptChainHasItsIDAfterASweep(t *testing.T) {
	in := NewInterner()
	chain := func(i int) []Frame { return []Frame{{Object: 1, Offset: uint64(i)}, {Object: 2, Offset: 7}} }
	const chains = 20_000
	for i := range chains {
		in.Intern(chain(i), i%2 == 0)
	}
	full := in.Bytes()
	kept := []StackID{3, 500, 12_000}
	for round := range 3 {
		for _, id := range kept {
			in.Keep(id)
		}
		in.Sweep()
		if in.Len() != len(kept) || in.Bytes() > full {
			t.Fatalf("%d chains in %d bytes are left, want %d in less than %d", in.Len(), in.Bytes(), len(kept), full)
		}
		for _, id := range kept {
			if found, ok := in.Find(chain(int(id)), id%2 == 0); !ok || found != id {
				t.Errorf("chain %d is found as %d, %t", id, found, ok)
			}
		}
		if _, ok := in.Find(chain(4), true); ok {
			t.Error("a chain that was not kept is found")
		}
		seen := map[StackID]bool{3: true, 500: true, 12_000: true}
		for i := range chains {
			id := in.Intern(chain(chains*(round+1)+i), false)
			if seen[id] {
				t.Fatalf("chain %d has the id %d of another", i, id)
			}
			seen[id] = true
			if frames, _ := in.Stack(id); !slices.Equal(frames, chain(chains*(round+1)+i)) {
				t.Fatalf("chain %d is %v", i, frames)
			}
		}
		if in.Len() != chains+len(kept) {
			t.Errorf("%d chains", in.Len())
		}
	}
}
