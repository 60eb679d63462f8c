package output

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
	want := []stackLine{{[]string{"worker", "libfoo.so+0x1200"}, 7}, {[]string{"worker", "libfoo.so+0x1400"}, 1}}
	if diff := cmp.Diff(want, stackLines(p, 0, false)); diff != "" {
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

func TestWaitsCallsAndAllocationsArePutDownToTheProgram(t *testing.T) {
	objects := []profile.Object{
		{Path: "[kernel]", Kernel: true}, {Path: "/usr/bin/worker"}, {Path: "/usr/lib/x86_64-linux-gnu/libc.so.6"},
		{Path: "[labels]", Labels: true}, {Path: "/lib/ld-musl-x86_64.so.1"}, {Path: "/usr/lib/libfoo.so.2"},
	}
	for _, test := range []struct {
		name         string
		user, kernel []string // "object function", root first
		want         string
	}{
		{"a wait", []string{"1 main", "1 fetch", "2 read"}, []string{"0 do_syscall_64", "0 schedule", "0 __schedule", "0 __traceiter_sched_switch"}, "fetch"},
		{"an allocation", []string{"1 main", "5 foo_new", "2 malloc"}, nil, "foo_new"},
		{"an allocation of a static program", []string{"1 main", "1 parse", "1 operator new(unsigned long)", "1 malloc"}, nil, "parse"},
		{"a call of musl's", []string{"4 libc_start_main_stage2", "1 main", "4 nanosleep", "4 clock_nanosleep"}, nil, "main"},
		{"Go", []string{"1 main.main", "1 main.load", "1 os.(*File).Read", "1 internal/poll.(*FD).Read", "1 syscall.read", "1 syscall.Syscall"}, nil, "main.load"},
		{"a thread of the kernel", nil, []string{"0 ret_from_fork", "0 kthread", "0 worker_thread", "0 schedule", "0 __schedule", "0 __traceiter_sched_switch"}, "worker_thread"},
		{"a sleeper and its waker", []string{"1 main", "1 fetch", "2 read", "3 --", "2 write", "1 answer", "1 main", "3 server"}, nil, "fetch"},
		{"a label alone", []string{"3 [since before]"}, nil, ""},
		{"nothing but a library", []string{"2 start_thread", "2 nanosleep"}, nil, "nanosleep"},
	} {
		p := sample()
		p.Metrics[0].Running = false
		p.Objects, p.Frames, p.Stacks = objects, nil, nil
		stack := func(frames []string) int {
			if frames == nil {
				return profile.None
			}
			var s profile.Stack
			for _, f := range frames {
				s.Frames = append(s.Frames, len(p.Frames))
				p.Frames = append(p.Frames, profile.Frame{Object: int(f[0] - '0'), Name: f[2:]})
			}
			p.Stacks = append(p.Stacks, s)
			return len(p.Stacks) - 1
		}
		p.Rows = []profile.Row{{User: stack(test.user), Kernel: stack(test.kernel), Values: []uint64{5}}}
		got := ""
		for _, h := range hottest(p, 0, 5, false) {
			got += h.function.name
		}
		if got != test.want {
			t.Errorf("%s is put down to %q, want %q", test.name, got, test.want)
		}
	}
}
