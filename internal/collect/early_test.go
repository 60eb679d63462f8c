package collect

import (
	"encoding/binary"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// stackSample is a sample of a user stack, all of whose registers hold one value.
func stackSample(sp uint64, words ...uint64) *perfevent.Sample {
	mask := callchain.Host().UserRegsMask()
	s := &perfevent.Sample{Regs: perfevent.Registers{ABI: stack.ABI64, Mask: mask}}
	for bit := range 64 {
		if mask>>bit&1 != 0 {
			s.Regs.Values = append(s.Regs.Values, sp)
		}
	}
	for _, w := range words {
		s.Stack = binary.LittleEndian.AppendUint64(s.Stack, w)
	}
	return s
}

// What is taken early where it is the next of all gives the window that Handle gives,
// also to a collector whose records must come in order.
func TestWhatIsNextIsTakenEarly(t *testing.T) {
	records := []perfevent.Record{
		&perfevent.Fork{Header: perfevent.Header{PID: 1, TID: 1, Time: 1}, PID: 5, TID: 5, PPID: 1, PTID: 1},
		&perfevent.Switch{Header: perfevent.Header{PID: 5, TID: 5, Time: 2}},
		switchTo(5, 10, sleeps, 0, 1),
		&perfevent.Switch{Header: perfevent.Header{PID: 5, TID: 5, Time: 20}},
		switchTo(5, 30, preempted, 0, 2),
		&perfevent.Switch{Header: perfevent.Header{PID: 5, TID: 5, Time: 35}},
	}
	handled, early := offCPU(t, OffCPUOptions{Whole: true}, Options{Whole: true}), offCPU(t, OffCPUOptions{Whole: true}, Options{Whole: true})
	taken := 0
	for _, record := range records {
		handle(t, handled.recorder, record)
		if _, ok := record.(*perfevent.Sample); ok && early.recorder.Early(record, false) {
			t.Error("a sample that must come in order is taken before others")
		}
		if early.recorder.Early(record, true) {
			taken++
		} else {
			handle(t, early.recorder, record)
		}
	}
	if taken != len(records)-1 {
		t.Errorf("%d of %d records are taken early, want all but the birth", taken, len(records))
	}
	want, got := handled.recorder.Finish(100), early.recorder.Finish(100)
	if diff := cmp.Diff(want.Rows, got.Rows); diff != "" || values(got) != [4]uint64{10, 1, 5, 1} {
		t.Errorf("rows (-handled +early):\n%s", diff)
	}
	if diff := cmp.Diff(handled.recorder.Counts(), early.recorder.Counts()); diff != "" {
		t.Errorf("counts (-handled +early):\n%s", diff)
	}
}

// A process that is read from /proc, and code whose file is opened first, may take
// long: nothing of such a sample is counted before Handle is given it.
func TestWhatMayTakeLongIsNotTakenEarly(t *testing.T) {
	r := offCPU(t, OffCPUOptions{Whole: true}, Options{Whole: true})
	r.recorder.parts[0].stacker = r.recorder.stacks.Stacker(stack.Stacks{User: true, Unwind: stack.DWARF})
	r.recorder.stacked[0] = true
	early := func(pc uint64) bool {
		s := stackSample(pc, 1, 2, 3)
		s.PID, s.TID, s.Time, s.Raw = 5, 5, 10, switchTo(5, 10, sleeps, 0, 1).Raw
		before := r.recorder.Counts()[0]
		taken := r.recorder.Early(s, true)
		if diff := cmp.Diff(before, r.recorder.Counts()[0]); !taken && diff != "" {
			t.Errorf("counted of what was not taken (-before +after):\n%s", diff)
		}
		return taken
	}
	if early(1 << 20) {
		t.Error("a process is read from /proc")
	}
	r.born(5, 1)
	handle(t, r.recorder, &perfevent.Mmap{Header: perfevent.Header{Time: 2}, PID: 5, TID: 5, Addr: 1 << 20, Len: 4096, Prot: 5, Filename: []byte("//anon")})
	if early(1 << 20) {
		t.Error("code is looked at for the first time")
	}
	if _, ok := r.recorder.processes.Process(5).Find(1 << 20); !ok {
		t.Fatal("the code is not there")
	}
	if !early(1<<20) || r.recorder.stacks.Len() != 1 {
		t.Errorf("%d stacks are known, want the new one of code that is known", r.recorder.stacks.Len())
	}
	if frames := r.recorder.stacks.Stack(0).Frames; len(frames) != 1 {
		t.Errorf("the stack is %v", frames)
	}
}
