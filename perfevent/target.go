package perfevent

import (
	"fmt"
	"slices"
	"strings"
)

type targetKind uint8

const (
	systemTarget targetKind = iota
	processTarget
	threadTarget
	cgroupTarget
)

// Target is what a session watches. The zero value is the whole system.
type Target struct {
	kind    targetKind
	pids    []int
	tree    bool // with the descendants that the processes have
	cgroup  string
	command *Command
}

// System is everything on this host (or in this VM), on all online CPUs. It
// needs privileges: CAP_PERFMON, or kernel.perf_event_paranoid at most 0.
func System() Target { return Target{kind: systemTarget} }

// Process is one process or several with all their threads, and the threads
// and children that they create from now on.
func Process(pids ...int) Target { return Target{kind: processTarget, pids: pids} }

// ProcessTree is Process with the descendants that the processes have already. Those of
// them that live on when the processes have ended keep the target.
func ProcessTree(pids ...int) Target { return Target{kind: processTarget, pids: pids, tree: true} }

// Thread is one thread or several, without the threads and children that they
// create. Records other than samples come from their whole processes, since
// any thread can map code for all.
func Thread(tids ...int) Target { return Target{kind: threadTarget, pids: tids} }

// InCgroup is the processes of a control group and of those below it. The path
// is a directory of a cgroup v2 file system, or of the v1 hierarchy that has
// the perf_event controller. It needs the privileges of System. Records other
// than samples come from the whole system.
func InCgroup(path string) Target { return Target{kind: cgroupTarget, cgroup: path} }

// Beside is the target of a session beside another one, which alone lets a Started command
// run, or ends it. It has the descendants that processes have by now.
func (t Target) Beside() Target {
	t.command, t.tree = nil, t.kind == processTarget
	return t
}

// Started is a command that StartCommand holds before its first instruction.
// The session's Enable lets it run, and its Close kills it if that never came.
func Started(c *Command) Target {
	return Target{kind: processTarget, pids: []int{c.PID()}, command: c}
}

// Held tells whether the target is a command that has not begun: it has mapped nothing of its own yet.
func (t Target) Held() bool { return t.command != nil }

// PIDs returns the processes or threads that the target was made of: a started command's,
// but no descendants. It returns none for the system and for control groups.
func (t Target) PIDs() []int { return slices.Clone(t.pids) }

// Cgroup returns the directory of the target's control group, or "" if it is no group.
func (t Target) Cgroup() string { return t.cgroup }

// String names the target for messages: "process 12", "cgroup /sys/fs/…".
func (t Target) String() string {
	switch t.kind {
	case processTarget:
		return "process " + joinInts(t.pids)
	case threadTarget:
		return "thread " + joinInts(t.pids)
	case cgroupTarget:
		return "cgroup " + t.cgroup
	}
	return "the whole system"
}

func joinInts(numbers []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(numbers), "[]"), " ", ",")
}

// PerSampling returns how many events a session opens for each sampling of the
// target, or 0 if that is not known or grows: a process's events are inherited
// by each thread that it starts.
func (t Target) PerSampling() int {
	if t.kind == processTarget {
		return 0
	}
	cpus, err := onlineCPUs()
	if err != nil {
		return 0
	}
	return len(cpus) * max(len(t.pids), 1)
}
