package plan

import (
	"slices"

	"github.com/ringtap/ringtap/internal/script/check"
)

// task is a member of curtask, in a tracepoint, of those that the record or /proc tells.
func (p *planner) task(s *check.Source) (Field, bool) {
	if s.Form == check.Plain {
		for _, known := range []struct {
			members []string
			root    check.Root
		}{
			{[]string{"tgid"}, check.LeaderRoot},
			{[]string{"real_parent", "tgid"}, check.ParentRoot},
			{[]string{"real_parent", "pid"}, check.ParentRoot},
			{[]string{"parent", "tgid"}, check.ParentRoot},
			{[]string{"parent", "pid"}, check.ParentRoot},
			{[]string{"real_parent", "comm"}, check.ParentCommRoot},
			{[]string{"parent", "comm"}, check.ParentCommRoot},
			{[]string{"group_leader", "pid"}, check.LeaderRoot},
			{[]string{"group_leader", "comm"}, check.LeaderCommRoot},
		} {
			if path, ok := p.members(known.members); ok && slices.Equal(path, s.Path) {
				return Field{From: Process, Root: known.root}, true
			}
		}
	}
	p.refuse("pid, tid, comm, ppid and pcomm are", "this member of curtask is not possible yet at a %s", p.point.Provider)
	return Field{}, false
}

// members is the path from a task to a member.
func (p *planner) members(names []string) (path []check.Step, ok bool) {
	for i, name := range names {
		offset, ok := p.host.Offset("struct task_struct", name)
		if !ok {
			return nil, false
		}
		path = append(path, check.Step{Offset: offset, Deref: i < len(names)-1})
	}
	return path, true
}
