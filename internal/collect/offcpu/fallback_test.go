package offcpu

import (
	"errors"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/perfevent"
)

// switched is the kernel's record that a thread leaves a CPU or goes on.
func switched(tid uint32, at uint64, out, preempt bool) *perfevent.Switch {
	return &perfevent.Switch{Header: perfevent.Header{PID: tid, TID: tid, Time: at}, Out: out, Preempt: preempt}
}

// An ordinary user may not read the tracepoint.
func TestTheCounterOfSwitchesHasStacksAndTheRecordsTellTheRest(t *testing.T) {
	c, err := New(Options{Host: process.Host{Proc: t.TempDir()}, Stacks: stack.Stacks{Kernel: true}})
	if err != nil {
		t.Fatal(err)
	}
	if s := c.Plan().Samplings; len(s) != 1 || s[0].Event.String() != "context-switches" {
		t.Fatalf("the samplings are %+v", s)
	}
	r := livetest.NewRecorder(t, c)
	r.Sample(0, 5, 10, 0x1000)
	r.Record(switched(5, 10, true, false))
	r.Record(switched(5, 40, false, false))
	r.Sample(0, 5, 50, 0x1000)
	r.Record(switched(5, 50, true, true))
	r.Record(switched(5, 55, false, false))
	w := r.Finish(60)
	if got := values(w); got != [4]uint64{30, 1, 5, 1} {
		t.Errorf("the values are %v, want a wait of 30 and a preemption of 5", got)
	}
}

func TestEachRefusalHasTheNextBestSource(t *testing.T) {
	c, err := New(Options{Switch: switchFormat, waking: wakingFormat, Host: process.Host{Proc: t.TempDir()}, Stacks: stack.Stacks{User: true, Kernel: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Fallback(errors.New("no memory")); ok {
		t.Error("what another source does not cure has a fallback")
	}
	for _, step := range []struct {
		err   error
		event string
		note  bool
	}{
		{perfevent.ErrPermission, "context-switches", false},
		{perfevent.ErrKernelExcluded, "task-clock", true},
	} {
		note, ok := c.Fallback(step.err)
		if !ok || (note != "") != step.note || c.Plan().Event != step.event {
			t.Errorf("after %v: %s, %q, %t", step.err, c.Plan().Event, note, ok)
		}
		if step.note && (!strings.Contains(note, "no kernel stacks") || !strings.Contains(note, "no wakers")) {
			t.Errorf("the note is %q", note)
		}
	}
	if _, ok := c.Fallback(perfevent.ErrKernelExcluded); ok {
		t.Error("there is a fallback behind the last")
	}
	whole, err := New(Options{Switch: switchFormat, Whole: true, Host: process.Host{Proc: t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := whole.Fallback(perfevent.ErrPermission); ok {
		t.Error("the whole system has a fallback, which only a few may watch")
	}
}

// Where switches have no stacks, a wait has the one that its thread was last seen with.
func TestAWaitHasTheStackThatItsThreadWasLastSeenWith(t *testing.T) {
	c, err := New(Options{Host: process.Host{Proc: t.TempDir()}, Stacks: stack.Stacks{Kernel: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := c.Fallback(perfevent.ErrKernelExcluded); !ok {
		t.Fatal("no fallback")
	}
	r := livetest.NewRecorder(t, c)
	r.Record(switched(5, 5, true, false)) // not seen before: it has no stack
	r.Record(switched(5, 10, false, false))
	r.Sample(0, 5, 15, 0x1000)
	r.Record(switched(5, 20, true, false))
	r.Record(switched(5, 50, false, false))
	r.Record(switched(5, 60, true, true))
	r.Record(switched(5, 61, false, false))
	r.Record(&perfevent.Exit{Header: perfevent.Header{PID: 5, TID: 5, Time: 70}, PID: 5, TID: 5, PPID: 1})
	w := r.Finish(80)
	if got := values(w); got != [4]uint64{35, 2, 1, 1} || len(w.Rows) != 2 {
		t.Errorf("the values are %v in %d rows, want 35 ns in two waits, one of them at a stack", got, len(w.Rows))
	}
}

func TestATracepointWithoutItsFieldsIsRefused(t *testing.T) {
	for want, o := range map[string]Options{"prev_state": {Switch: wakingFormat}, "sched_waking": {waking: switchFormat}} {
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want that %s is named", err, want)
		}
	}
}
