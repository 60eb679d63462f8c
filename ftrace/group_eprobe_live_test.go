package ftrace_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
)

// An event probe comes and goes, and what it left if it was killed is removed by the next.
func TestLiveAnEventProbeIsRemovedAgain(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root")
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Skip(err)
	}
	if err := tracefs.TryEventProbe(); errors.Is(err, ftrace.ErrNoEventProbes) {
		t.Skip(ftrace.ErrNoEventProbes)
	} else if err != nil {
		t.Fatal(err)
	}
	list := func() string {
		text, err := os.ReadFile(tracefs.Dir() + "/dynamic_events")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before := list()
	group, err := tracefs.NewGroup("dynamic_events")
	if err != nil {
		t.Fatal(err)
	}
	id, err := group.Define(ftrace.Dynamic{Type: 'e', Event: "fork", Place: "sched.sched_process_fork", Args: "parent=$parent_pid:s32"})
	if err != nil {
		t.Fatal(err)
	}
	format, err := tracefs.Format(group.Name(), "fork")
	if err != nil || format.ID != int(id) || format.Field("parent") == nil {
		t.Errorf("format %+v, %v", format, err)
	}
	if _, err := group.Define(ftrace.Dynamic{Type: 'e', Event: "wrong", Place: "sched.sched_process_fork", Args: "v=$no_such_field"}); !errors.As(err, new(*ftrace.DefinitionError)) {
		t.Errorf("of a field that is not there: %v", err)
	}
	if err := group.Close(); err != nil {
		t.Error(err)
	}
	if after := list(); after != before {
		t.Errorf("dynamic_events was %q and is %q", before, after)
	}
	const dead = "e:ringtap_4194304_1/left sched.sched_process_fork"
	file, err := os.OpenFile(tracefs.Dir()+"/dynamic_events", os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString(dead + "\n"); err != nil {
		t.Fatal(err)
	}
	file.Close()
	if !strings.Contains(list(), "ringtap_4194304_1/left") {
		t.Errorf("not defined: %q", list())
	}
	if removed, err := tracefs.RemoveStale(0); err != nil || strings.Join(removed, " ") != "ringtap_4194304_1/left" {
		t.Errorf("removed %q, %v", removed, err)
	}
	if after := list(); after != before {
		t.Errorf("dynamic_events was %q and is %q", before, after)
	}
}
