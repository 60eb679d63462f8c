package plan

import "github.com/ringtap/ringtap/internal/script/check"

// task refuses curtask: its address and what lies there are the kernel's.
func (p *planner) task(s *check.Source) {
	what := "curtask is an address in the kernel"
	if len(s.Path) > 0 {
		what = "this member of curtask is in the kernel's memory"
	}
	p.refuse("pid, tid, comm, ppid, pcomm, uid and cgroup are there, and the members of curtask of the same meaning",
		"%s, which no %s probe reads", what, p.point.Provider)
}
