package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
)

const taskStruct = `struct task_struct { int x; int y; int pid; int tgid; struct task_struct *real_parent; int z; int w; char comm[16]; };
`

func TestMembersOfCurtaskThatProcTells(t *testing.T) {
	for expression, want := range map[string]Field{
		`((struct task_struct *)curtask)->pid`:               {Root: check.TaskRoot, Name: "tid"},
		`((struct task_struct *)curtask)->comm`:              {Root: check.TaskRoot, Name: "comm"},
		`((struct task_struct *)curtask)->tgid`:              {Root: check.LeaderRoot},
		`((struct task_struct *)curtask)->real_parent->tgid`: {Root: check.ParentRoot},
		`((struct task_struct *)curtask)->real_parent->pid`:  {Root: check.ParentRoot},
		`((struct task_struct *)curtask)->real_parent->comm`: {Root: check.ParentCommRoot},
	} {
		want.From = Process
		for _, probe := range []string{"tracepoint:a:b", "kprobe:f", "uprobe:/bin/a:f", "profile:hz:9", "usdt:/bin/a:p:n"} {
			events, errs := planned(t, fmt.Sprintf(`%s %s { print(%s); }`, taskStruct, probe, expression))
			if len(errs) > 0 || len(events) != 1 || len(events[0].Uses) != 1 {
				t.Errorf("%s: %s: %v", probe, expression, errs)
				continue
			}
			if fields := events[0].Uses[0].Fields; len(fields) != 1 || fields[0] != want {
				t.Errorf("%s: %s: %+v", probe, expression, fields)
			}
		}
	}
}

func TestMembersOfCurtaskThatNothingTellsAreRefused(t *testing.T) {
	for expression, want := range map[string]string{
		`((struct task_struct *)curtask)->x`:                             "this member of curtask is in no record",
		`((struct task_struct *)curtask)->real_parent->real_parent->pid`: "this member of curtask is in no record and not in /proc, and there is no memory",
		`curtask`: "the address of curtask is not known without BPF: there is no memory",
	} {
		_, errs := planned(t, fmt.Sprintf(`%s tracepoint:a:b { print(%s); }`, taskStruct, expression))
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), want) {
			t.Errorf("%s: %v", expression, errs)
		}
		prog, host := checked(t, fmt.Sprintf(`%s tracepoint:a:b { print(%s); }`, taskStruct, expression))
		host.noTasks = nil
		events, errs := Make(prog, host)
		if len(errs) > 0 || len(events) != 1 || events[0].Uses[0].Fields[0] != (Field{From: Task}) {
			t.Errorf("with the kernel's memory: %s: %v, %v", expression, describe(events), errs)
		}
	}
}
