package callchain

import (
	"encoding/binary"
	"slices"
	"testing"
)

// paged is a copy's memory from the page on in which an address of it lies.
func paged(c *Capture, from uint64) Beyond {
	b := Beyond{Stretch: Stretch{From: from &^ (PageSize - 1)}}
	sp := c.Regs.SP()
	rest, at := c.Stack[from-sp:], from-b.From
	if before := min(from-sp, at); before > 0 {
		rest, at = c.Stack[from-sp-before:], at-before
	}
	for len(rest) > 0 {
		page := new(Page)
		rest = rest[copy(page[at:], rest):]
		b.Pages, at = append(b.Pages, page), 0
	}
	return b
}

// A stack of 600 frames, of rules and of frame pointers, which is cut anywhere.
func TestAStackThatGoesOnBeyondItsCopyIsWhole(t *testing.T) {
	var stack []uint64
	for range 200 {
		stack = append(stack, toyLarge+9, 0, 0, 0, 0, 0, 0, at(len(stack)+11), toyBare+9, 0, 0, 0, toyEntry+9)
	}
	stack = append(stack, toyStart+5)
	all := newToy(t, toyEntry, 0, stack...)
	u := New(AMD64)
	want, end := u.Unwind(nil, &all.space, &all.c)
	if len(want) < 600 || end != Complete {
		t.Fatalf("%d frames, %v", len(want), end)
	}
	for n := 0; n <= len(stack); n += 7 {
		cut := all.c
		cut.Stack = all.c.Stack[:8*n]
		cut.Beyond = paged(&all.c, toyStack+uint64(8*n))
		got, end := u.Unwind(nil, &all.space, &cut)
		if !slices.Equal(got, want) || end != Complete {
			t.Fatalf("copied %d of %d words: %d frames, %v, want %d", n, len(stack), len(got), end, len(want))
		}
		if got := u.Reach(); got != at(len(stack)) {
			t.Errorf("copied %d of %d words: they end at %#x, want %#x", n, len(stack), got, at(len(stack)))
		}
		if n < len(stack) && u.Repeatable() {
			t.Errorf("copied %d of %d words: repeatable, though words were read that the copy has not", n, len(stack))
		}
		// As far as it was read.
		if pages := len(cut.Beyond.Pages); pages > 1 {
			cut.Beyond.Pages = cut.Beyond.Pages[:pages/2]
			got, end = u.Unwind(nil, &all.space, &cut)
			if len(got) >= len(want) || !slices.Equal(got, want[:len(got)]) || end != Cut {
				t.Errorf("copied %d of %d words and half of the rest: %d frames, %v", n, len(stack), len(got), end)
			}
		}
	}
}

func TestWordsBeyondTheCopy(t *testing.T) {
	page := new(Page)
	binary.LittleEndian.PutUint64(page[PageSize-8:], 7)
	b := Beyond{Stretch: Stretch{From: 0x10000, Pages: []*Page{new(Page), page}}, Top: Stretch{From: 0x20000, Pages: []*Page{page}}}
	for _, test := range []struct {
		addr, size uint64
		want       []byte
	}{
		{0x10000, 1, []byte{0}},
		{0x11ff8, 8, []byte{7, 0, 0, 0, 0, 0, 0, 0}},
		{0x11ff8, 2, []byte{7, 0}},
		{0x11ff9, 8, nil},
		{0x10ffc, 8, nil}, // in two pages
		{0x12000, 1, nil},
		{0x20ff8, 1, []byte{7}},
		{0x20ffc, 8, nil},
		{0x21000, 1, nil},
		{0xffff, 1, nil},
		{0, 8, nil},
		{1<<64 - 1, 8, nil},
		{0x10000, 0, nil},
		{0x10000, 9, nil},
	} {
		if got := b.at(test.addr, test.size); !slices.Equal(got, test.want) {
			t.Errorf("%d bytes at %#x are %v, want %v", test.size, test.addr, got, test.want)
		}
	}
}

// A chain by the kernel's walk is whole without what was read beyond the copy, which tells
// nevertheless where the stack ends.
func TestTheRecordsOfTheKernelsChainAreFollowed(t *testing.T) {
	stack := make([]uint64, 2000)
	chain := []uint64{toyFramed}
	for i := 1; i < 1990; i += 30 {
		stack[i], stack[i+1] = at(i+30), toyFramed+9
		chain = append(chain, toyFramed+9)
	}
	last := len(chain)*30 - 59
	stack[last], stack[last+1], chain[len(chain)-1] = 0, toyStart+5, toyStart+5
	all := newToy(t, toyFramed, at(1), stack...)
	cut := all.c
	cut.Chain, cut.MaxStack = chain, 127
	cut.Stack = all.c.Stack[:512]
	cut.Beyond = paged(&all.c, toyStack+512)
	u := New(AMD64)
	table := all.space.mappings[0].Table
	table.framed.Do(func() { table.framePointers = true })
	frames, end := u.Auto(nil, &all.space, &cut)
	if len(frames) != len(chain) || end != Complete {
		t.Fatalf("%d frames, %v, want %d", len(frames), end, len(chain))
	}
	if got := u.Reach(); got != at(last+1) {
		t.Errorf("the stack ends at %#x, want %#x", got, at(last+1))
	}
	cut.Beyond.Pages = cut.Beyond.Pages[:1]
	if u.Auto(nil, &all.space, &cut); u.Reach() != 0 {
		t.Errorf("the stack ends at %#x, though it was not read to its end", u.Reach())
	}
}

// What a chain leads over need not be known.
func TestAChainLeadsOverAVariable(t *testing.T) {
	const variable = 3 * PageSize / 8 // words
	stack := make([]uint64, variable+1024)
	stack[1], stack[2] = at(variable+600), toyFramed+9
	stack[variable+600], stack[variable+601] = 0, toyStart+5
	all := newToy(t, toyFramed, at(1), stack...)
	cut := all.c
	cut.Stack = all.c.Stack[:512]
	cut.Beyond.Top = paged(&all.c, at(variable+512)&^(PageSize-1)).Stretch
	u := New(AMD64)
	frames, end := u.Unwind(nil, &all.space, &cut)
	if len(frames) != 3 || end != Complete {
		t.Fatalf("%d frames, %v, want 3", len(frames), end)
	}
	if from, to := u.Gap(); from != at(3) || to != cut.Beyond.Top.From {
		t.Errorf("it leads over %#x to %#x, want %#x to %#x", from, to, at(3), cut.Beyond.Top.From)
	}
	cut.Stack, cut.Beyond = all.c.Stack, Beyond{}
	if u.Unwind(nil, &all.space, &cut); !isNothing(u.Gap()) {
		t.Error("it leads over something, though all was copied")
	}
}

func isNothing(from, to uint64) bool { return from == 0 && to == 0 }
