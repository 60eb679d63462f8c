package table

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
	"github.com/ringtap/ringtap/perfevent"
)

// A process that is read from /proc, and code whose file is opened first, may take
// long: nothing of such a sample is counted before Record is given it.
func TestWhatMayTakeLongIsNotTakenEarly(t *testing.T) {
	processes := process.NewTable(process.Options{Host: process.Host{Proc: t.TempDir()}})
	t.Cleanup(processes.Close)
	r := NewRecorder([]Collector{&counting{stacks: stack.Stacks{User: true, Unwind: stack.DWARF}, ordered: true}}, processes, 0,
		Options{Whole: true, Memory: 64 << 20})
	early := func(pc uint64) bool {
		s := tabletest.StackSample(pc, 1, 2, 3)
		s.PID, s.TID, s.Time = 5, 5, 10
		before := r.Counts()[0]
		taken := r.MayPass(s, true) && r.Early(s)
		if diff := cmp.Diff(before, r.Counts()[0]); !taken && diff != "" {
			t.Errorf("counted of what was not taken (-before +after):\n%s", diff)
		}
		return taken
	}
	if early(1 << 20) {
		t.Error("a process is read from /proc")
	}
	tabletest.Handle(t, r, &perfevent.Fork{Header: perfevent.Header{PID: 1, TID: 1, Time: 1}, PID: 5, TID: 5, PPID: 1, PTID: 1})
	tabletest.Handle(t, r, &perfevent.Mmap{Header: perfevent.Header{Time: 2}, PID: 5, TID: 5, Addr: 1 << 20, Len: 4096, Prot: 5, Filename: []byte("//anon")})
	if early(1 << 20) {
		t.Error("code is looked at for the first time")
	}
	if _, ok := processes.Process(5).Find(1 << 20); !ok {
		t.Fatal("the code is not there")
	}
	if !early(1<<20) || r.stacks.Len() != 1 {
		t.Errorf("%d stacks are known, want the new one of code that is known", r.stacks.Len())
	}
	if frames := r.stacks.Stack(0).Frames; len(frames) != 1 {
		t.Errorf("the stack is %v", frames)
	}
}
