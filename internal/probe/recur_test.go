package probe

import (
	"testing"

	"github.com/ringtap/ringtap/ftrace"
)

func TestEventsOfTheSchedulerRecur(t *testing.T) {
	for _, test := range []struct {
		system, name string
		want         bool
	}{
		{"sched", "sched_switch", true},
		{"sched", "sched_wakeup", true},
		{"sched", "sched_process_exec", false},
		{"raw_syscalls", "sys_enter", true},
		{"syscalls", "sys_enter_openat", false},
		{"irq_vectors", "irq_work_entry", true},
		{"ringtap_1_2", "malloc", false},
	} {
		other := Source{Format: &ftrace.Format{System: "block", Name: "block_rq_issue"}}
		if got := Recur([]Source{other, {Format: &ftrace.Format{System: test.system, Name: test.name}}}); got != test.want {
			t.Errorf("%s:%s: %t", test.system, test.name, got)
		}
	}
	if Recur([]Source{{}}) {
		t.Error("an event without a format recurs")
	}
}
