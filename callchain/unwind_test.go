package callchain

import (
	"encoding/binary"
	"slices"
	"testing"
)

func TestUnwindFollowsRulesAndFramePointers(t *testing.T) {
	for _, test := range []struct {
		name   string
		pc, fp uint64
		stack  []uint64
		entry  bool
		want   []uint64
		end    End
	}{
		{name: "by rules to the outermost function", pc: toyEntry + 2,
			stack: []uint64{toyLarge + 9, 0, 0, 0, 0, 0, 0, 0, toyStart + 5},
			want:  []uint64{toyEntry + 2, toyLarge + 8, toyStart + 4}, end: Complete},
		{name: "a zero return address", pc: toyEntry, stack: []uint64{0},
			want: []uint64{toyEntry}, end: Complete},
		{name: "by frame pointer", pc: toyBare, fp: at(1),
			stack: []uint64{7, at(3), toyBare + 9, at(5), toyBare + 17, 0, toyBare + 25},
			want:  []uint64{toyBare, toyBare + 8, toyBare + 16, toyBare + 24}, end: Complete},
		{name: "a frame pointer that rules have restored", pc: toyLarge, fp: 99,
			stack: []uint64{0, 0, 0, 0, 0, 0, at(8), toyBare + 9, 0, toyBare + 17},
			want:  []uint64{toyLarge, toyBare + 8, toyBare + 16}, end: Complete},
		{name: "the entry of code without rules", pc: toyBare, fp: at(1), entry: true,
			stack: []uint64{toyBare + 33, 0, toyBare + 41},
			want:  []uint64{toyBare, toyBare + 32, toyBare + 40}, end: Complete},
		{name: "the same place without that knowledge", pc: toyBare, fp: at(1),
			stack: []uint64{toyBare + 33, 0, toyBare + 41},
			want:  []uint64{toyBare, toyBare + 40}, end: Complete},
		{name: "a signal frame leads to the interrupted instruction", pc: toyEntry,
			stack: []uint64{toySignal + 4, 0, toyEntry, at(4), toyStart + 1},
			want:  []uint64{toyEntry, toySignal + 3, toyEntry, toyStart}, end: Complete},
		{name: "the copy ends in a frame", pc: toyLarge, stack: []uint64{0, 0, 0},
			want: []uint64{toyLarge}, end: Cut},
		{name: "a CFA that lies on the stack", pc: toyDeref, stack: []uint64{0, 0, at(5), 0, toyStart + 5},
			want: []uint64{toyDeref, toyStart + 4}, end: Complete},
		{name: "the copy ends before that", pc: toyDeref, stack: []uint64{0, 0},
			want: []uint64{toyDeref}, end: Cut},
		{name: "the copy ends in a frame record", pc: toyBare, fp: at(1), stack: []uint64{0, 0},
			want: []uint64{toyBare}, end: Cut},
		{name: "no copy at all", pc: toyEntry, want: []uint64{toyEntry}, end: Cut},
		{name: "a return address that is no code", pc: toyEntry, stack: []uint64{0x5000},
			want: []uint64{toyEntry}, end: Lost},
		{name: "a pc that is no code", pc: 0x5000, stack: []uint64{toyStart + 5}, end: Lost},
		{name: "a frame pointer far from the stack", pc: toyBare, fp: 0x100000, stack: []uint64{0, 0},
			want: []uint64{toyBare}, end: Lost},
		{name: "a frame pointer that is odd", pc: toyBare, fp: at(0) + 4, stack: []uint64{0, 0, 0},
			want: []uint64{toyBare}, end: Lost},
		{name: "frame records in a circle", pc: toyBare, fp: at(0), stack: []uint64{at(0), toyBare + 9},
			want: []uint64{toyBare, toyBare + 8}, end: Lost},
		{name: "a record that points at itself, by rules", pc: toyFramed, fp: at(0), stack: []uint64{at(0), toyFramed + 9, 0, 0},
			want: []uint64{toyFramed, toyFramed + 8}, end: Lost},
		{name: "signal frames in a circle", pc: toySignal, stack: []uint64{0, toySignal, at(0), 0},
			want: repeatOffset(toySignal, 6), end: Lost},
	} {
		t.Run(test.name, func(t *testing.T) {
			toy := newToy(t, test.pc, test.fp, test.stack...)
			toy.c.Entry = test.entry
			frames, end := New(AMD64).Unwind(nil, &toy.space, &toy.c)
			if got := offsets(frames); !slices.Equal(got, test.want) || end != test.end {
				t.Errorf("chain %#x, %v\nwant  %#x, %v", got, end, test.want, test.end)
			}
		})
	}
}

func repeatOffset(offset uint64, n int) (list []uint64) {
	for range n {
		list = append(list, offset)
	}
	return list
}

func TestUnwindAppendsToWhatIsThere(t *testing.T) {
	toy := newToy(t, toyEntry, 0, toyStart+5)
	frames, _ := New(AMD64).Unwind([]Frame{{Object: Kernel, Offset: 1}}, &toy.space, &toy.c)
	if got, want := offsets(frames), []uint64{1, toyEntry, toyStart + 4}; !slices.Equal(got, want) {
		t.Errorf("chain %#x, want %#x", got, want)
	}
}

// unversioned hides the version of an address space.
type unversioned struct{ AddressSpace }

func TestTheCacheKnowsSpacesApart(t *testing.T) {
	u := New(AMD64)
	toy := newToy(t, toyEntry, 0, toyStart+5)
	leaf := func(space AddressSpace) ObjectID {
		frames, _ := u.Unwind(nil, space, &toy.c)
		if len(frames) == 0 {
			return 0
		}
		return frames[0].Object
	}
	leaf(&toy.space)
	other := toy.space
	other.mappings = slices.Clone(toy.space.mappings)
	other.mappings[0].Object = 77
	if got := leaf(unversioned{&other}); got != 77 {
		t.Errorf("a space without a version got the object %d of another", got)
	}
	other.version = 2
	if got := leaf(&other); got != 77 {
		t.Errorf("another version got the object %d", got)
	}
	if got := leaf(&toy.space); got != 1 {
		t.Errorf("the first version got the object %d", got)
	}
	toy.space.mappings[0].Object, toy.space.version = 78, 3
	if got := leaf(&toy.space); got != 78 {
		t.Errorf("a new version got the object %d", got)
	}
}

func TestVersionsThatShareAPlaceInTheCacheAreKnownApart(t *testing.T) {
	u := New(AMD64)
	first := fixedSpace{version: 1, mappings: []Mapping{{Start: 0x1000, End: 0x2000, Object: 1}}}
	other := fixedSpace{version: 1, mappings: []Mapping{{Start: 0x1000, End: 0x2000, Object: 2}}}
	shared := u.lookup(&first, first.version, 0x1234)
	for other.version++; ; other.version++ {
		if p := u.lookup(&other, other.version, 0x1234); p.frame.Object != 2 {
			t.Fatalf("version %d got the object %d", other.version, p.frame.Object)
		} else if p == shared {
			return
		}
	}
}

func TestUnwindingWarmAllocatesNothing(t *testing.T) {
	space, c := deepCapture(t, 20)
	u := New(AMD64)
	dst, _ := u.Unwind(nil, space, c)
	if n := testing.AllocsPerRun(100, func() { dst, _ = u.Unwind(dst[:0], space, c) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestSignedReturnAddressesAreStripped(t *testing.T) {
	for _, test := range []struct {
		name            string
		code, signature uint64
	}{
		{"48-bit addresses", 0xffff00001000, 0x00ab << 48},
		{"39-bit addresses", 0x7f00001000, 0x00ab5c80 << 32}, // bits 39 to 55
	} {
		space := &fixedSpace{version: 1, mappings: []Mapping{
			{Start: test.code, End: test.code + 0x1000, Offset: 0x1000, Object: 1}}}
		var c Capture
		values := make([]uint64, 33)
		values[29], values[31], values[32] = 0x7000, 0x7000, test.code+0x234
		if err := c.Regs.Load(ARM64, ARM64.UserRegsMask(), values); err != nil {
			t.Fatal(err)
		}
		c.Stack = make([]byte, 8) // the record: x29 is zero
		c.Stack = binary.LittleEndian.AppendUint64(c.Stack, test.signature|(test.code+0x145))
		frames, end := New(ARM64).Unwind(nil, space, &c)
		if got, want := offsets(frames), []uint64{0x1234, 0x1144}; !slices.Equal(got, want) || end != Complete {
			t.Errorf("%s: chain %#x, %v; want %#x", test.name, got, end, want)
		}
	}
}
