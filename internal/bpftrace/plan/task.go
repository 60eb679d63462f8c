package plan

import (
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
)

// knownOfTask returns the members of curtask that the record or /proc contains: their path through
// the kernel's structs, and which value it is.
func knownOfTask() []struct {
	way  string
	root check.Root
	name string // for TaskRoot
} {
	type known = struct {
		way  string
		root check.Root
		name string
	}
	all := []known{
		{"task_struct.pid", check.TaskRoot, "tid"},
		{"task_struct.tgid", check.LeaderRoot, ""},
		{"task_struct.comm", check.TaskRoot, "comm"},
		{"task_struct.group_leader task_struct.pid", check.LeaderRoot, ""},
		{"task_struct.group_leader task_struct.comm", check.LeaderCommRoot, ""},
		{"task_struct.cred cred.uid", check.UIDRoot, ""},
		{"task_struct.cred cred.gid", check.GIDRoot, ""},
		{"task_struct.real_cred cred.uid", check.UIDRoot, ""},
		{"task_struct.real_cred cred.gid", check.GIDRoot, ""},
	}
	for _, parent := range []string{"real_parent", "parent"} {
		for _, id := range []string{"tgid", "pid"} {
			all = append(all, known{"task_struct." + parent + " task_struct." + id, check.ParentRoot, ""})
		}
		all = append(all, known{"task_struct." + parent + " task_struct.comm", check.ParentCommRoot, ""})
	}
	for _, namespace := range [][3]string{
		{"mnt_ns", "mnt_namespace", "mnt"}, {"uts_ns", "uts_namespace", "uts"}, {"ipc_ns", "ipc_namespace", "ipc"},
		{"pid_ns_for_children", "pid_namespace", "pid_for_children"}, {"net_ns", "net", "net"}, {"cgroup_ns", "cgroup_namespace", "cgroup"},
	} {
		way := "task_struct.nsproxy nsproxy." + namespace[0] + " " + namespace[1] + ".ns.inum"
		all = append(all, known{way, check.TaskRoot, "ns/" + namespace[2]})
	}
	return all
}

// TaskMembers lists in words the members that OfTask knows.
const TaskMembers = "pid, tgid, comm, the uid and gid of cred, pid, tgid and comm of real_parent and group_leader, inodes of nsproxy's namespaces"

// task plans curtask or one of its members, from the record, /proc, or the kernel's memory shortly
// after the hit. The address of the task_struct is still the same then.
func (p *planner) task(s *check.Source) (Field, bool) {
	if f, ok := OfTask(p.host, s); ok {
		return f, true
	}
	err := p.host.Tasks()
	switch {
	case s.Form == check.Vector:
		p.refuse("", "join() is not possible yet behind curtask")
	case err == nil:
		return Field{From: Task}, true
	case len(s.Path) == 0 && s.Form == check.Plain:
		p.refuse("tid is a number for the thread.", "the address of curtask is not known without BPF: %v", err)
	default:
		p.refuse("These are there: "+TaskMembers+".", "this member of curtask is in no record and not in /proc, and %v", err)
	}
	return Field{}, false
}

// OfTask returns where to find a member of curtask if the record or /proc contains it.
func OfTask(host Host, s *check.Source) (Field, bool) {
	for _, known := range knownOfTask() {
		if s.Form == check.Plain && IsWay(host, s.Path, known.way) {
			return Field{From: Process, Root: known.root, Name: known.name}, true
		}
	}
	return Field{}, false
}

// IsWay reports whether path follows way, a path through kernel structs such as "task_struct.cred
// cred.uid".
func IsWay(host Host, path []check.Step, way string) bool {
	members := strings.Fields(way)
	if len(path) != len(members) {
		return false
	}
	for i, of := range members {
		structure, member, _ := strings.Cut(of, ".")
		offset, ok := host.Offset("struct "+structure, member)
		if !ok || path[i] != (check.Step{Offset: offset, Deref: i < len(members)-1}) {
			return false
		}
	}
	return true
}
