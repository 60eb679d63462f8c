package callchain

import (
	"encoding/binary"
	"slices"
	"testing"
)

// slotSpace is a program at 0x1000, in a file at the same offset, and the page where the
// kernel executes probed instructions.
type slotSpace struct{ code [0x1000]byte }

const slotPage = 0x7ffff7fc1000

func (s *slotSpace) Find(pc uint64) (Mapping, bool) {
	switch {
	case pc >= 0x1000 && pc < 0x2000:
		return Mapping{Start: 0x1000, End: 0x2000, Offset: 0x1000, Object: 1}, true
	case pc >= slotPage && pc < slotPage+0x1000:
		return Mapping{Start: slotPage, End: slotPage + 0x1000, Offset: slotPage, Object: 2}, true
	}
	return Mapping{}, false
}

func (s *slotSpace) Trampoline() uint64 { return slotPage }

func (s *slotSpace) ReadCode(object ObjectID, offset uint64, b []byte) int {
	if object != 1 || offset < 0x1000 || offset >= 0x2000 {
		return 0
	}
	return copy(b, s.code[offset-0x1000:])
}

func TestAProbedInstructionInItsSlotIsOfTheFunctionThatWasCalled(t *testing.T) {
	if Host() != AMD64 {
		t.Skip("calls are decoded on amd64 only")
	}
	var space slotSpace
	// 0x1100: call 0x1200; pop %rbx; hlt
	copy(space.code[0x100:], []byte{0xe8, 0xfb, 0, 0, 0, 0x5b, 0xf4})
	stack := func(words ...uint64) (b []byte) {
		for _, w := range words {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return b
	}
	for _, test := range []struct {
		name  string
		stack []byte
		want  []Frame
	}{
		{"at a function's first instruction", stack(0x1105, 7), []Frame{{Object: 1, Offset: 0x1200}, {Object: 1, Return: true, Offset: 0x1104}}},
		{"elsewhere", stack(7, 0x1105), []Frame{{Object: 2, Offset: slotPage + 0x80}}},
		{"at the first instruction of one whose return is probed", stack(slotPage), []Frame{{Object: 2, Offset: slotPage + 0x80}}},
	} {
		c := Capture{Stack: test.stack}
		values := make([]uint64, 17)
		values[6], values[7], values[8] = 3, 0x7ffffffde000, slotPage+0x80 // bp, sp, ip
		if err := c.Regs.Load(AMD64, 1<<17-1, values); err != nil {
			t.Fatal(err)
		}
		frames, _ := New(AMD64).Unwind(nil, &space, &c)
		if !slices.Equal(frames, test.want) {
			t.Errorf("%s: %+v, want %+v", test.name, frames, test.want)
		}
	}
}
