package check

import (
	"github.com/ringtap/ringtap/internal/script/syntax"
	"github.com/ringtap/ringtap/internal/script/types"
)

// taskMember returns a member of curtask, of its parent or of its leader that a hit tells
// without the kernel's memory, nil if f is none. The task is at an address.
func (c *checker) taskMember(pos syntax.Pos, addr Expr, task *types.Type, f *types.Field) Expr {
	if addr == nil || f == nil || task.Name != "struct task_struct" {
		return nil
	}
	from := c.origin(addr)
	if from == nil || from.root.Root != TaskRoot {
		return nil
	}
	var names map[string]string
	switch {
	case len(from.steps) == 0:
		names = map[string]string{"pid": "tid", "tgid": "pid", "comm": "comm"}
	case len(from.steps) == 1 && from.steps[0].Deref:
		names = c.relative(task, from.steps[0].Offset)
	}
	name, ok := names[f.Name]
	if !ok {
		return nil
	}
	x := c.ident(&syntax.Ident{Pos: pos, Name: name})
	if x.Type().Kind == types.Int {
		return c.widenInt(x, f.Type)
	}
	return x
}

// relative returns the builtins for the members of the task that the pointer at an offset in a
// task leads to.
func (c *checker) relative(task *types.Type, offset int) map[string]string {
	for _, pointer := range []string{"real_parent", "parent", "group_leader"} {
		f, at := c.findField(task, pointer)
		switch {
		case f == nil || at != offset:
		case pointer == "group_leader":
			return map[string]string{"pid": "leader_tid", "tgid": "leader_tid", "comm": "leader_comm"}
		default:
			return map[string]string{"pid": "ppid", "tgid": "ppid", "comm": "pcomm"}
		}
	}
	return nil
}
