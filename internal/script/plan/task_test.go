package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/script/check"
)

const taskStruct = `struct task_struct { int x; int y; int pid; int tgid; struct task_struct *real_parent; int z; int w; char comm[16]; };
`

func TestMembersOfCurtaskThatProcTells(t *testing.T) {
	for expression, root := range map[string]check.Root{
		`((struct task_struct *)curtask)->tgid`:              check.LeaderRoot,
		`((struct task_struct *)curtask)->real_parent->tgid`: check.ParentRoot,
		`((struct task_struct *)curtask)->real_parent->pid`:  check.ParentRoot,
		`((struct task_struct *)curtask)->real_parent->comm`: check.ParentCommRoot,
	} {
		events, errs := planned(t, fmt.Sprintf(`%s tracepoint:a:b { print(%s); }`, taskStruct, expression))
		if len(errs) > 0 || len(events) != 1 || len(events[0].Uses) != 1 {
			t.Errorf("%s: %v", expression, errs)
			continue
		}
		if fields := events[0].Uses[0].Fields; len(fields) != 1 || fields[0] != (Field{From: Process, Root: root}) {
			t.Errorf("%s: %+v", expression, fields)
		}
	}
}

func TestMembersOfCurtaskThatNothingTellsAreRefused(t *testing.T) {
	for _, expression := range []string{
		`((struct task_struct *)curtask)->x`, `((struct task_struct *)curtask)->real_parent->real_parent->pid`,
	} {
		_, errs := planned(t, fmt.Sprintf(`%s tracepoint:a:b { print(%s); }`, taskStruct, expression))
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), "this member of curtask is not possible yet") {
			t.Errorf("%s: %v", expression, errs)
		}
	}
}
