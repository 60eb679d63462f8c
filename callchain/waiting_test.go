package callchain

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// waiting has a thread that waits in the function at pc, with nothing known but its
// stack.
func waiting(t *testing.T, pc uint64, stack ...uint64) *toy {
	toy := newToy(t, pc, 0, stack...)
	if err := toy.c.Regs.LoadWaiting(AMD64, pc, toyStack); err != nil {
		t.Fatal(err)
	}
	return toy
}

// toyCode tells of calls by a function.
type toyCode func(ra, callee uint64) bool

func (c toyCode) Calls(ra, callee uint64) bool { return c(ra, callee) }
func (toyCode) Sites(_, _ uint64) []uint64     { return nil }

func TestAWaitingThreadsFrameRecordIsFound(t *testing.T) {
	anyCall := func(uint64, uint64) bool { return true }
	// What calls the framed function returns to one of these.
	callsFramed := func(ra, callee uint64) bool {
		return callee>>8 == toyFramed>>8 && (ra>>8 == toyStart>>8 || ra>>8 == toyLarge>>8)
	}
	start := uint64(toyStart + 0x10)
	for _, test := range []struct {
		name  string
		pc    uint64
		stack []uint64
		calls func(ra, callee uint64) bool
		want  []uint64
		end   End
	}{
		{"by the table alone", toyEntry + 4, []uint64{start, 0}, anyCall, []uint64{toyEntry + 4, start - 1}, Complete},
		// The leaf is left by the table, its caller has a record somewhere above.
		{"one record", toyEntry + 4, []uint64{toyFramed + 9, 1, 2, 0, start, 0}, anyCall, []uint64{toyEntry + 4, toyFramed + 8, start - 1}, Complete},
		{"in the leaf", toyFramed + 9, []uint64{1, 2, 0, start, 0}, anyCall, []uint64{toyFramed + 9, start - 1}, Complete},
		// An earlier call from the framed function has left a record of its callee.
		{"what an earlier call left", toyEntry + 4, []uint64{toyFramed + 9, 1, at(5), toyFramed + 0x21, 2, 0, start, 0}, callsFramed,
			[]uint64{toyEntry + 4, toyFramed + 8, start - 1}, Complete},
		{"no record", toyEntry + 4, []uint64{toyFramed + 9, 1, 2, 3, 4}, anyCall, []uint64{toyEntry + 4, toyFramed + 8}, Lost},
		{"a record that no call led to", toyEntry + 4, []uint64{toyFramed + 9, 1, 2, 0, start, 0}, func(uint64, uint64) bool { return false },
			[]uint64{toyEntry + 4, toyFramed + 8}, Lost},
		{"not in code", 0x9000, []uint64{start}, anyCall, nil, Lost},
	} {
		toy := waiting(t, test.pc, test.stack...)
		got, end := New(AMD64).Waiting(nil, &toy.space, &toy.c, toyCode(test.calls))
		if !slices.Equal(offsets(got), test.want) || end != test.end {
			t.Errorf("%s: %#x, %v; want %#x, %v", test.name, offsets(got), end, test.want, test.end)
		}
	}
}

// The first record's caller is behind the copy. The second is an old one, whose caller's
// return address is 0, which ends a chain too.
func TestARecordThatLeadsOutOfTheCopyIsFollowedInALargerOne(t *testing.T) {
	stack := []uint64{toyFramed + 9, at(8), toyFramed + 0x21, 0, toyEntry + 0x31, 0, 0}
	rest := []uint64{0, 0, uint64(toyStart + 0x10), 0}
	whole := []uint64{toyEntry + 4, toyFramed + 8, toyFramed + 0x20, toyStart + 0xf}
	for _, test := range []struct {
		name  string
		stack []uint64
		whole bool
		want  []uint64
		end   End
	}{
		{"more can be copied", stack, false, whole[:3], Cut},
		{"the larger copy", append(stack, rest...), true, whole, Complete},
		{"nothing is behind the copy", stack, true, []uint64{toyEntry + 4, toyFramed + 8, toyEntry + 0x30}, Complete},
	} {
		toy := waiting(t, toyEntry+4, test.stack...)
		toy.c.Whole = test.whole
		got, end := New(AMD64).Waiting(nil, &toy.space, &toy.c, toyCode(func(uint64, uint64) bool { return true }))
		if !slices.Equal(offsets(got), test.want) || end != test.end {
			t.Errorf("%s: %#x, %v; want %#x, %v", test.name, offsets(got), end, test.want, test.end)
		}
	}
}

// TestTheSearchForAFrameRecordEnds has a stack of records that each lead to all that
// are above it, and from the last to nowhere.
func TestTheSearchForAFrameRecordEnds(t *testing.T) {
	var words []uint64
	for len(words) < 1<<16 {
		words = append(words, at(len(words)+2), toyFramed+9)
	}
	toy := waiting(t, toyFramed+9, words...)
	toy.c.Whole = true
	guesses := 0
	_, end := New(AMD64).Waiting(nil, &toy.space, &toy.c, toyCode(func(uint64, uint64) bool {
		guesses++
		return true
	}))
	// The walks from the lower half of the stack have this many frames at least.
	const least = 1 << 14
	if end != Lost || guesses == 0 || guesses > maxGuessed/least+1 {
		t.Errorf("%v after %d guesses", end, guesses)
	}
}

// Whatever is on the stack, the search ends, and what it finds begins with what the
// tables tell.
func FuzzWaiting(f *testing.F) {
	fuzzing.Bound(f)
	stack := func(words ...uint64) (b []byte) {
		for _, w := range words {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return b
	}
	f.Add(uint64(toyFramed+9), stack(1, 2, 0, toyStart+0x10))
	f.Add(uint64(toyBare+9), stack(at(2), toyBare+5, at(0), toyBare+7))
	f.Fuzz(func(t *testing.T, pc uint64, stack []byte) {
		toy := waiting(t, pc)
		toy.c.Stack = stack
		alone, _ := New(AMD64).Unwind(nil, &toy.space, &toy.c)
		found, _ := New(AMD64).Waiting(nil, &toy.space, &toy.c, toyCode(func(ra, _ uint64) bool { return ra%2 == 0 }))
		if len(found) < len(alone) || !slices.Equal(found[:len(alone)], alone) {
			t.Errorf("%#x, by the tables %#x", offsets(found), offsets(alone))
		}
	})
}

// sites tells of calls of a leaf by where the function called before returns to.
type sites map[uint64][]uint64

func (sites) Calls(_, _ uint64) bool             { return true }
func (s sites) Sites(ra, callee uint64) []uint64 { return s[ra] }

// A function that waits and calls nothing leaves its return address in a register,
// which nobody outside can read.
func TestAWaitingLeafsCallerIsFound(t *testing.T) {
	const leaf, caller, keeper, start = 0x1000, 0x1100, 0x1200, 0x1300
	b := newMaker(ARM64)
	add := func(at uint64, cfaReg uint8, cfa int32, undefined bool, rules map[uint8]int32) {
		r := row{cfa: rule{kind: ruleValOffset, reg: cfaReg, val: cfa}}
		for column, offset := range rules {
			r.set(uint64(column), rule{kind: ruleOffset, val: offset})
		}
		if undefined {
			r.set(uint64(arm64.ra), rule{kind: ruleUndefined})
		}
		b.begin(at, at+0x100)
		b.add(at, b.set(&r, arm64.ra, 0))
	}
	add(leaf, arm64.sp, 0, false, nil)
	add(caller, arm64.sp, 32, false, map[uint8]int32{arm64.fp: -32, arm64.ra: -24})
	add(keeper, arm64.fp, 32, false, map[uint8]int32{arm64.fp: -32, arm64.ra: -24}) // its stack grows as it runs
	add(start, arm64.sp, 0, true, nil)
	space := fixedSpace{version: 1, mappings: []Mapping{{Start: leaf, End: start + 0x100, Offset: leaf, Object: 1, Table: b.finish()}}}
	const up = start + 0x10
	for _, test := range []struct {
		name  string
		stack []uint64
		code  sites
		want  []uint64
		end   End
	}{
		{"one call", []uint64{0, up, 1, 2}, sites{up: {caller + 8}}, []uint64{leaf + 8, caller + 7, up - 1}, Complete},
		{"the first of two", []uint64{0, up, 1, 2}, sites{up: {caller + 8, caller + 16}}, []uint64{leaf + 8, caller + 7, up - 1}, Complete},
		{"what was called is not the caller", []uint64{0, up, 1, 2}, sites{up: {start + 8, 0x9000, caller + 8}}, []uint64{leaf + 8, caller + 7, up - 1}, Complete},
		{"a signed address", []uint64{0, up | 0x12<<56, 1, 2}, sites{up: {caller + 8}}, []uint64{leaf + 8, caller + 7, up - 1}, Complete},
		{"a caller with a frame pointer", []uint64{7, 8, 0, up, 1, 2}, sites{up: {keeper + 8}}, []uint64{leaf + 8, keeper + 7, up - 1}, Complete},
		// An earlier call has left its return address where the caller has variables.
		{"what an earlier call left", []uint64{0, up, caller + 0x20, 2}, sites{caller + 0x20: {caller + 8}, up: {caller + 16}}, []uint64{leaf + 8, caller + 15, up - 1}, Complete},
		{"no call of the leaf", []uint64{0, up, 1, 2}, nil, []uint64{leaf + 8}, Lost},
		{"a frame of another size", []uint64{0, 1, 2, up}, sites{up: {caller + 8}}, []uint64{leaf + 8}, Lost},
		{"a caller without an end", []uint64{0, caller + 0x20, 1, 2, 3, 4}, sites{caller + 0x20: {caller + 8}}, []uint64{leaf + 8}, Lost},
	} {
		var c Capture
		if err := c.Regs.LoadWaiting(ARM64, leaf+8, toyStack); err != nil {
			t.Fatal(err)
		}
		for _, word := range test.stack {
			c.Stack = binary.LittleEndian.AppendUint64(c.Stack, word)
		}
		got, end := New(ARM64).Waiting(nil, &space, &c, test.code)
		if !slices.Equal(offsets(got), test.want) || end != test.end {
			t.Errorf("%s: %#x, %v; want %#x, %v", test.name, offsets(got), end, test.want, test.end)
		}
	}
}
