package report

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

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

func TestFunctionsWithoutANameAreToldApart(t *testing.T) {
	p := sample()
	unnamed := func(address, start uint64) profile.Frame {
		name := fmt.Sprintf("libfoo.so+%#x", start)
		return profile.Frame{Object: 2, Address: address, Name: name, RawName: name, Start: start, Offset: address - start, Unnamed: true}
	}
	p.Frames = []profile.Frame{unnamed(0x1234, 0x1200), unnamed(0x1244, 0x1200), unnamed(0x1404, 0x1400)}
	p.Stacks = []profile.Stack{{Frames: []int{0}}, {Frames: []int{1}}, {Frames: []int{2}}}
	p.Rows = nil
	for i, count := range []uint64{4, 3, 1} {
		p.Rows = append(p.Rows, profile.Row{User: i, Kernel: profile.None, Values: []uint64{count}})
	}
	want := []foldedLine{{[]string{"worker", "libfoo.so+0x1200"}, 7}, {[]string{"worker", "libfoo.so+0x1400"}, 1}}
	if diff := cmp.Diff(want, fold(p, 0, false)); diff != "" {
		t.Errorf("folded (-want +got):\n%s", diff)
	}
	if got, want := hottestLine(p, 0, 8, false), "hottest functions: 87.5% libfoo.so+0x1200, 12.5% libfoo.so+0x1400"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := trace(p, 1, false), []string{"libfoo.so+0x1200+0x44"}; !slices.Equal(got, want) {
		t.Errorf("the table shows %q, want %q", got, want)
	}
	if out := toPprof(p); len(out.Function) != 2 {
		t.Errorf("pprof has the functions %v, want two", out.Function)
	}
}
