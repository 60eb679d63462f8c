package callchain

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wholeSpace is code without tables, of one object.
type wholeSpace struct{}

func (wholeSpace) Find(pc uint64) (Mapping, bool) {
	return Mapping{Start: 0x1000, End: 0x100000, Offset: 0x1000, Object: 1}, true
}

// sizedFrames is a runtime of which each frame has so many words.
type sizedFrames struct {
	words    map[uint64]uint64 // by pc
	register bool
}

func (r *sizedFrames) Step(a *Activation) {
	if r.register {
		a.Register(3)
	}
	n, ok := r.words[a.PC]
	if !ok {
		return
	}
	a.Frames = append(a.Frames, Frame{Object: 7, Offset: a.PC}, Frame{Object: 7, Offset: a.PC + 1})
	ra, _ := a.Word(a.SP + 8*n)
	a.Leave(ra, a.SP+8*n+8, a.FP)
}

// linkedLeaf is a runtime whose leaf has nothing on the stack.
type linkedLeaf struct{}

func (linkedLeaf) Step(a *Activation) {
	if ra, ok := a.Register(30); ok {
		a.Leave(ra, a.SP, a.FP)
	}
}

func TestALeafWithItsReturnAddressInARegisterTakesNoStack(t *testing.T) {
	c := Capture{Stack: make([]byte, 64), Runtime: linkedLeaf{}}
	c.Regs = Regs{arch: ARM64}
	for column, v := range map[uint8]uint64{arm64.pc: 0x2000, arm64.sp: 0x8000, arm64.ra: 0x3000} {
		c.Regs.set(column, v)
	}
	got, _ := New(ARM64).Unwind(nil, wholeSpace{}, &c)
	want := []Frame{{Object: 1, Offset: 0x2000}, {Object: 1, Return: true, Offset: 0x2fff}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestARuntimeNamesItsFramesAndLeavesThem(t *testing.T) {
	stack := make([]byte, 0, 64)
	for _, w := range []uint64{1, 2, 0x3000, 3, 0x4000, 0, 0, 0} {
		stack = binary.LittleEndian.AppendUint64(stack, w)
	}
	for _, test := range []struct {
		name       string
		runtime    *sizedFrames
		want       []Frame
		end        End
		repeatable bool
	}{
		{
			"all frames are its own", &sizedFrames{words: map[uint64]uint64{0x2000: 2, 0x3000: 1, 0x4000: 0}},
			[]Frame{{Object: 7, Offset: 0x2000}, {Object: 7, Offset: 0x2001}, {Object: 7, Offset: 0x3000}, {Object: 7, Offset: 0x3001}, {Object: 7, Offset: 0x4000}, {Object: 7, Offset: 0x4001}},
			Complete, true,
		}, {
			"it says nothing of the second", &sizedFrames{words: map[uint64]uint64{0x2000: 2}, register: true},
			[]Frame{{Object: 7, Offset: 0x2000}, {Object: 7, Offset: 0x2001}, {Object: 1, Return: true, Offset: 0x2fff}},
			Lost, false,
		}, {
			"a frame of no size ends the walk", &sizedFrames{words: map[uint64]uint64{0x2000: ^uint64(0)}},
			[]Frame{{Object: 7, Offset: 0x2000}, {Object: 7, Offset: 0x2001}},
			Lost, true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := Capture{Stack: stack, Runtime: test.runtime}
			c.Regs = Regs{arch: AMD64}
			c.Regs.set(amd64.pc, 0x2000)
			c.Regs.set(amd64.sp, 0x8000)
			u := New(AMD64)
			got, end := u.Unwind(nil, wholeSpace{}, &c)
			if diff := cmp.Diff(test.want, got); diff != "" || end != test.end {
				t.Errorf("the chain is %v (-want +got):\n%s", end, diff)
			}
			if u.Repeatable() != test.repeatable {
				t.Errorf("repeatable: %v", u.Repeatable())
			}
		})
	}
}
