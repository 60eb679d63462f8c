package ftrace

import (
	"slices"
	"testing"
)

// As Linux 6.1 writes them.
func TestTheTriggersOfAnEventAreReadFromItsFile(t *testing.T) {
	const text = `hist:keys=common_pid:vals=hitcount:ts0=common_timestamp-1:sort=hitcount:size=8192:clock=global if common_pid != 0 [active]
hist:keys=common_cpu:vals=hitcount:sort=hitcount:size=1024:clock=global [paused]
traceoff:unlimited if prev_comm == "[active]"
`
	want := []string{
		"hist:keys=common_pid:vals=hitcount:ts0=common_timestamp-1:sort=hitcount:size=8192:clock=global if common_pid != 0 [active]",
		"hist:keys=common_cpu:vals=hitcount:sort=hitcount:size=1024:clock=global [paused]",
		`traceoff:unlimited if prev_comm == "[active]"`,
	}
	if got := triggersOf(text); !slices.Equal(got, want) {
		t.Errorf("%q; want %q", got, want)
	}
	if got := triggersOf("# Available triggers:\n# traceon traceoff snapshot stacktrace enable_event disable_event hist\n"); len(got) > 0 {
		t.Errorf("an event without triggers has %q", got)
	}
}
