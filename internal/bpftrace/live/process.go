package live

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
	"github.com/ringtap/ringtap/internal/process"
)

// ofProcess returns a getter of a value that belongs to the hit's process, such as its parent.
func ofProcess(root check.Root, name string) (getter, error) {
	switch root {
	case check.ParentRoot:
		return func(h *hit) value.Value { return value.Signed(int64(h.parent())) }, nil
	case check.LeaderRoot:
		return func(h *hit) value.Value { return value.Int(uint64(h.sample.PID)) }, nil
	case check.LeaderCommRoot:
		return func(h *hit) value.Value { return value.String(h.process().Comm) }, nil
	case check.ParentCommRoot:
		return func(h *hit) value.Value {
			return value.String(string(h.feed.names.Name(uint32(h.parent()))))
		}, nil
	case check.TaskRoot:
		return ofTask(name), nil
	case check.UserModeRoot:
		return func(h *hit) value.Value {
			if h.sample.Misc&unix.PERF_RECORD_MISC_CPUMODE_MASK == unix.PERF_RECORD_MISC_USER {
				return value.Int(1)
			}
			return value.Int(0)
		}, nil
	case check.NUMARoot:
		return ofNode("/"), nil
	case check.CgroupRoot:
		return func(h *hit) value.Value { return value.Int(h.sample.Cgroup) }, nil
	case check.UIDRoot, check.GIDRoot:
		gid := root == check.GIDRoot
		return func(h *hit) value.Value {
			status, _ := h.feed.processes.Host().Status(int(h.sample.PID))
			if gid {
				return value.Int(uint64(status.GIDs[0]))
			}
			return value.Int(uint64(status.UIDs[0]))
		}, nil
	}
	return nil, fmt.Errorf("this value is not possible yet")
}

// ofTask returns a getter of a value of the hit's thread: its id, its name or a namespace of its
// process.
func ofTask(name string) getter {
	switch name {
	case "tid":
		return func(h *hit) value.Value { return value.Int(uint64(h.sample.TID)) }
	case "comm":
		return func(h *hit) value.Value { return value.String(h.Comm()) }
	}
	return func(h *hit) value.Value {
		return value.Int(h.feed.processes.Host().Inode(fmt.Sprintf("%d/%s", h.sample.TID, name)))
	}
}

// behindTask returns a getter of memory that the thread's task_struct leads to. The memory is read late, when
// a clause asks for it. The address of the task_struct itself is still the same then.
func behindTask(src *check.Source) getter {
	path := src.Path
	if len(path) == 0 && src.Form != check.Plain {
		path = []check.Step{{}} // the struct itself, and not its address
	}
	return func(h *hit) value.Value {
		b, there := h.feed.options.Task(h.sample.TID, h.sample.Time, path, Size(src))
		if !there {
			h.feed.account.Ended++
		}
		v := Loaded(b, src)
		if len(path) > 0 {
			h.feed.account.Late++
			v = v.Late()
		}
		return v
	}
}

// parent returns the parent PID of the hit's process. If the process has ended, it returns the PID of the
// process that forked it, or of its parent at the start of the run.
func (h *hit) parent() int {
	if status, err := h.feed.processes.Host().Status(int(h.sample.PID)); err == nil {
		return status.PPID
	}
	if parent := h.process().Parent; parent != 0 {
		return parent
	}
	return h.feed.parents[int(h.sample.PID)]
}

func (f *feed) asksForParents() bool {
	return slices.ContainsFunc(f.sources, func(s *source) bool { return s.parents })
}

// parentsOf returns the parent PID of each process that runs, by PID.
func parentsOf(host process.Host) map[int]int {
	pids, _ := host.Processes()
	parents := make(map[int]int, len(pids))
	for _, pid := range pids {
		if status, err := host.Status(pid); err == nil {
			parents[pid] = status.PPID
		}
	}
	return parents
}
