package session

import (
	"slices"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
)

func TestRawTracepointsHaveTheSystemsOfTheirTracepoints(t *testing.T) {
	all := []ftrace.EventName{{System: "raw_syscalls", Name: "sys_enter"}, {System: "raw_syscalls", Name: "sys_exit"}, {System: "sched", Name: "sched_switch"}}
	for text, want := range map[string][]string{
		"rawtracepoint:sched_switch":         {"sched:sched_switch"},
		"rawtracepoint:vmlinux:sched_switch": {"sched:sched_switch"},
		"rawtracepoint:sys_*":                {"raw_syscalls:sys_enter", "raw_syscalls:sys_exit"},
		"rawtracepoint:*:sys_exi?":           {"raw_syscalls:sys_exit"},
		"rawtracepoint:nosuch:sys_exit":      nil,
		"rawtracepoint:nosuch":               nil,
	} {
		program, err := syntax.Parse("", text+" { }", syntax.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range rawPoints(all, program.Probes[0].Points[0]) {
			got = append(got, p.Args[0]+":"+p.Args[1])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, not %v", text, got, want)
		}
	}
}
