package recorded

import (
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profile/timeline"
	"github.com/ringtap/ringtap/perfevent"
)

// switchFields are the fields of sched:sched_switch, which the thread that leaves its CPU hits: why
// it leaves, and which thread runs next.
type switchFields struct{ state, next *ftrace.Field }

// switchFieldsOf returns the fields if an event is sched:sched_switch, and nil otherwise. rated says
// that it is, but that it was sampled, so that nobody knows when threads did not run.
func switchFieldsOf(e *perfdata.Event, formats []perfdata.EventFormat) (fields *switchFields, rated bool) {
	if e.Attr.Type != unix.PERF_TYPE_TRACEPOINT {
		return nil, false
	}
	for i := range formats {
		if formats[i].System != "sched" {
			continue
		}
		format, err := ftrace.ParseFormat(formats[i].Text)
		if err != nil || format.Name != "sched_switch" || uint64(format.ID) != e.Attr.Config {
			continue // without its format, the event is one like any other
		}
		f := &switchFields{format.Field("prev_state"), format.Field("next_pid")}
		switch {
		case e.Attr.Bits&unix.PerfBitFreq != 0 || e.Attr.Sample > 1:
			return nil, true
		case f.state != nil && f.next != nil:
			return f, false
		}
	}
	return nil, false
}

// Bits of prev_state in the tracepoint since Linux 4.14 (include/linux/sched.h, TASK_REPORT).
const (
	taskSleeps        = 0x01
	taskWaits         = 0x02 // uninterruptible
	taskStopped       = 0x04
	taskTraced        = 0x08
	taskDead          = 0x10 | 0x20
	taskIdle          = 0x80
	taskWantsNotToRun = 0xff
)

// reasonOf returns why a thread leaves its CPU. dead says that it never runs again.
func reasonOf(state int64) (reason timeline.Reason, dead bool) {
	switch {
	case state&taskDead != 0:
		return timeline.Blocked, true
	case state&taskWantsNotToRun == 0:
		return timeline.Preempted, false
	case state&taskSleeps != 0:
		return timeline.Sleeping, false
	case state&taskWaits != 0:
		return timeline.Uninterruptible, false
	case state&taskStopped != 0:
		return timeline.Stopped, false
	case state&taskTraced != 0:
		return timeline.Traced, false
	case state&taskIdle != 0:
		return timeline.Idle, false
	}
	return timeline.Blocked, false
}

// ran follows a sample: its thread runs. If it is one of sched:sched_switch, the thread then leaves
// its CPU to another one. place is that of the sample's row, or profile.None.
func (t *Times) ran(s *perfevent.Sample, place int32) {
	if th := t.latest(s.PID, s.TID); th != nil {
		th.returns(s.Time, true)
	}
	f := t.switches[s.Sampling]
	if f == nil {
		return
	}
	if next, ok := f.next.Int(s.Raw); ok && next > 0 {
		if th := t.threads[uint64(next)]; th != nil {
			th.returns(s.Time, false)
		}
	}
	if state, ok := f.state.Int(s.Raw); ok {
		if reason, dead := reasonOf(state); !dead {
			t.leaves(&s.Header, place, reason)
		}
	}
}

// switched follows a switch record of the kernel. A sample of sched:sched_switch comes before it, and
// says more.
func (t *Times) switched(r *perfevent.Switch) {
	th := t.latest(r.PID, r.TID)
	switch {
	case !r.Out && th != nil:
		th.returns(r.Time, false)
	case !r.Out || th != nil && th.waits:
	case r.Preempt:
		t.leaves(&r.Header, profile.None, timeline.Preempted)
	default:
		t.leaves(&r.Header, profile.None, timeline.Blocked)
	}
}

// leaves begins a wait of the thread of a record. The idle task does not wait.
func (t *Times) leaves(h *perfevent.Header, place int32, reason timeline.Reason) {
	if int32(h.TID) <= 0 || !t.keep.AtAnyTime(h) {
		return
	}
	if th := t.thread(h.PID, h.TID); !th.waits {
		th.waits = add(t, &th.Waits, timeline.Wait{From: h.Time, Row: place, Reason: reason})
	}
}

// returns ends the wait of a thread, if it has one. noEnd is timeline.Wait.NoEnd.
func (th *thread) returns(now uint64, noEnd bool) {
	if !th.waits {
		return
	}
	w := &th.Waits[len(th.Waits)-1]
	w.To, w.NoEnd, th.waits = max(now, w.From), noEnd, false
}
