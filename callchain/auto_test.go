package callchain

import (
	"slices"
	"testing"
)

func TestFromCallchainPutsInTheSkippedCaller(t *testing.T) {
	for _, test := range []struct {
		name     string
		pc, fp   uint64
		stack    []uint64
		chain    []uint64
		entry    bool
		maxStack int
		want     []uint64
		end      End
	}{
		{name: "a leaf with its record", pc: toyFramed, fp: at(0), stack: []uint64{at(2), toyBare + 9},
			chain: []uint64{toyFramed, toyBare + 9, toyStart + 5},
			want:  []uint64{toyFramed, toyBare + 8, toyStart + 4}, end: Complete},
		{name: "a leaf without one", pc: toyEntry, fp: at(4), stack: []uint64{toyBare + 9},
			chain: []uint64{toyEntry, toyStart + 5},
			want:  []uint64{toyEntry, toyBare + 8, toyStart + 4}, end: Complete},
		{name: "recursion: the caller's caller has the same address", pc: toyEntry, fp: at(4), stack: []uint64{toyBare + 9},
			chain: []uint64{toyEntry, toyBare + 9, toyStart + 5},
			want:  []uint64{toyEntry, toyBare + 8, toyBare + 8, toyStart + 4}, end: Complete},
		{name: "the entry of code without rules", pc: toyBare, fp: at(4), stack: []uint64{toyBare + 9}, entry: true,
			chain: []uint64{toyBare, toyStart + 5},
			want:  []uint64{toyBare, toyBare + 8, toyStart + 4}, end: Complete},
		{name: "an entry that the kernel has repaired", pc: toyBare, fp: at(4), stack: []uint64{toyBare + 9}, entry: true,
			chain: []uint64{toyBare, toyBare + 9, toyStart + 5},
			want:  []uint64{toyBare, toyBare + 8, toyStart + 4}, end: Complete},
		{name: "a caller that the copy does not hold", pc: toyLarge, fp: at(9), stack: []uint64{0},
			chain: []uint64{toyLarge, toyStart + 5},
			want:  []uint64{toyLarge, toyStart + 4}, end: Complete},
		{name: "the outermost function itself", pc: toyStart, chain: []uint64{toyStart},
			want: []uint64{toyStart}, end: Complete},
		{name: "as many entries as the kernel takes", pc: toyBare, maxStack: 2, chain: []uint64{toyBare, toyBare + 9},
			want: []uint64{toyBare, toyBare + 8}, end: Cut},
		{name: "fewer, and no outermost function", pc: toyBare, maxStack: 3, chain: []uint64{toyBare, toyBare + 9},
			want: []uint64{toyBare, toyBare + 8}, end: Lost},
		{name: "an entry that is no code", pc: toyBare, chain: []uint64{toyBare, 0x5000, toyStart + 5},
			want: []uint64{toyBare}, end: Lost},
		{name: "no chain", pc: toyBare, end: Lost},
	} {
		t.Run(test.name, func(t *testing.T) {
			toy := newToy(t, test.pc, test.fp, test.stack...)
			toy.c.Chain, toy.c.Entry, toy.c.MaxStack = test.chain, test.entry, test.maxStack
			frames, end := New(AMD64).FromCallchain(nil, &toy.space, &toy.c)
			if got := offsets(frames); !slices.Equal(got, test.want) || end != test.end {
				t.Errorf("chain %#x, %v\nwant  %#x, %v", got, end, test.want, test.end)
			}
		})
	}
}

func TestAutoJoinsTheCopyWithTheKernelsChain(t *testing.T) {
	for _, test := range []struct {
		name   string
		pc, fp uint64
		stack  []uint64
		entry  bool
		chain  []uint64
		want   []uint64
		end    End
	}{
		{name: "a whole copy needs no chain", pc: toyEntry, fp: at(9), stack: []uint64{toyStart + 5},
			chain: []uint64{toyEntry, 0x5000},
			want:  []uint64{toyEntry, toyStart + 4}, end: Complete},
		{name: "the record of the last frame is the first that the kernel has met", pc: toyEntry, fp: at(3),
			stack: []uint64{toyFramed + 9},
			chain: []uint64{toyEntry, toyBare + 9, toyStart + 5},
			want:  []uint64{toyEntry, toyFramed + 8, toyBare + 8, toyStart + 4}, end: Complete},
		{name: "or a later one", pc: toyEntry, fp: at(1),
			stack: []uint64{toyFramed + 9, at(4), toyFramed + 17},
			chain: []uint64{toyEntry, toyFramed + 17, toyBare + 9, toyStart + 5},
			want:  []uint64{toyEntry, toyFramed + 8, toyFramed + 16, toyBare + 8, toyStart + 4}, end: Complete},
		{name: "deep in a recursion", pc: toyEntry, fp: at(1),
			stack: []uint64{toyFramed + 9, at(3), toyFramed + 9, at(5), toyFramed + 9},
			chain: []uint64{toyEntry, toyFramed + 9, toyFramed + 9, toyFramed + 9, toyFramed + 9, toyStart + 5},
			want:  []uint64{toyEntry, toyFramed + 8, toyFramed + 8, toyFramed + 8, toyFramed + 8, toyFramed + 8, toyStart + 4}, end: Complete},
		{name: "after an entry that the kernel has repaired", pc: toyEntry, fp: at(3), entry: true,
			stack: []uint64{toyFramed + 9},
			chain: []uint64{toyEntry, toyFramed + 9, toyBare + 9, toyStart + 5},
			want:  []uint64{toyEntry, toyFramed + 8, toyBare + 8, toyStart + 4}, end: Complete},
		{name: "a last frame without a record is the end", pc: toyLarge, fp: at(9), stack: []uint64{0},
			chain: []uint64{toyLarge, toyBare + 9, toyStart + 5},
			want:  []uint64{toyLarge}, end: Cut},
		{name: "the copy of unknown code ends, the kernel's chain does not", pc: toyBare, fp: at(5), stack: []uint64{0},
			chain: []uint64{toyBare, toyBare + 9, toyLarge + 9, toyStart + 5},
			want:  []uint64{toyBare, toyBare + 8, toyLarge + 8, toyStart + 4}, end: Complete},
		{name: "a frame pointer below the stack, which the kernel follows", pc: toyBare, fp: at(-2), stack: []uint64{0},
			chain: []uint64{toyBare, toyBare + 9, toyLarge + 9},
			want:  []uint64{toyBare, toyBare + 8, toyLarge + 8}, end: Lost},
		{name: "the kernel's chain of unknown code ends first", pc: toyBare, fp: at(1),
			stack: []uint64{7, at(3), toyBare + 9, at(99), toyBare + 17},
			chain: []uint64{toyBare, toyBare + 9},
			want:  []uint64{toyBare, toyBare + 8, toyBare + 16}, end: Cut},
		{name: "so is one in the chain", pc: toyFramed, fp: at(1), stack: []uint64{0},
			chain: []uint64{toyFramed, toyLarge + 9, toyStart + 5},
			want:  []uint64{toyFramed, toyLarge + 8}, end: Cut},
	} {
		t.Run(test.name, func(t *testing.T) {
			toy := newToy(t, test.pc, test.fp, test.stack...)
			toy.c.Chain, toy.c.Entry = test.chain, test.entry
			frames, end := New(AMD64).Auto(nil, &toy.space, &toy.c)
			if got := offsets(frames); !slices.Equal(got, test.want) || end != test.end {
				t.Errorf("chain %#x, %v\nwant  %#x, %v", got, end, test.want, test.end)
			}
		})
	}
}

func TestAutoWithoutRegistersTakesTheKernelsChain(t *testing.T) {
	toy := newToy(t, toyBare, 0)
	c := Capture{Chain: []uint64{toyBare, toyLarge + 9, toyStart + 5}}
	frames, end := New(AMD64).Auto(nil, &toy.space, &c)
	if got, want := offsets(frames), []uint64{toyBare, toyLarge + 8, toyStart + 4}; !slices.Equal(got, want) || end != Complete {
		t.Errorf("chain %#x, %v; want %#x", got, end, want)
	}
}

func TestAnUnknownMachineHasNoChains(t *testing.T) {
	toy := newToy(t, toyEntry, 0, toyStart+5)
	for _, c := range []Capture{toy.c, {Chain: []uint64{0x5000}}} {
		if frames, end := New(0).Auto(nil, &toy.space, &c); len(frames) != 0 || end != Lost {
			t.Errorf("chain %#x, %v", offsets(frames), end)
		}
	}
}
