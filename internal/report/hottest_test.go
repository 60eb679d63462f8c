package report

import (
	"testing"

	"github.com/ringtap/ringtap/internal/profile"
)

func TestAFunctionIsAsHotAsAllItsPlacesTogether(t *testing.T) {
	p := sample()
	p.Frames = append(p.Frames, profile.Frame{Object: 1, Address: 0x1200, Name: "ns::work(int)", Start: 0x1200})
	p.Stacks = append(p.Stacks, profile.Stack{Frames: []int{0, len(p.Frames) - 1}})
	p.Rows = []profile.Row{
		{Process: 0, User: 0, Kernel: profile.None, Values: []uint64{10}},
		{Process: 2, User: len(p.Stacks) - 1, Kernel: profile.None, Values: []uint64{5}},
		{Process: 2, User: 0, Kernel: 1, Values: []uint64{7}},                        // the kernel runs, not work
		{Process: 1, User: profile.None, Kernel: profile.None, Values: []uint64{99}}, // no function is known
		{Process: 1, User: 1, Kernel: profile.None, Values: []uint64{0}},             // another metric's row
	}
	got := hottest(p, 0, 5, false)
	if len(got) != 2 || got[0].function.name != "ns::work(int)" || got[0].count != 15 || got[1].function.name != "vfs_read" || got[1].count != 7 {
		t.Errorf("hottest functions are %v, want work with 15 and vfs_read with 7", got)
	}
	if got := hottest(p, 0, 1, false); len(got) != 1 {
		t.Errorf("asked for one function, got %d", len(got))
	}
}
