package live

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/script/check"
	"github.com/ringtap/ringtap/internal/script/value"
)

// ofProcess returns what takes something of the process from /proc.
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

// ofTask returns what takes something of the thread: its id, its name or a namespace of its
// process.
func ofTask(name string) getter {
	switch name {
	case "tid":
		return func(h *hit) value.Value { return value.Int(uint64(h.sample.TID)) }
	case "comm":
		return func(h *hit) value.Value { return value.String(h.Comm()) }
	}
	return func(h *hit) value.Value {
		return value.Int(Namespace(h.feed.processes.Host(), int(h.sample.TID), name))
	}
}

// behindTask returns what reads what the kernel's struct of the thread leads to, when a clause asks for it.
// The struct itself is where it was at the hit.
func behindTask(of *check.Source) getter {
	path := of.Path
	if len(path) == 0 && of.Form != check.Plain {
		path = []check.Step{{}} // the struct itself, and not its address
	}
	return func(h *hit) value.Value {
		b, there := h.feed.options.Task(h.sample.TID, h.sample.Time, path, Size(of))
		if !there {
			h.feed.account.Ended++
		}
		v := Loaded(b, of)
		if len(path) > 0 {
			h.feed.account.Late++
			v = v.Late()
		}
		return v
	}
}

// Namespace returns the inode of a namespace of a thread, by the name of its link: "ns/mnt"; 0 if the
// thread is gone.
func Namespace(host process.Host, tid int, name string) uint64 {
	link, _ := host.Link(tid, name)
	_, inode, _ := strings.Cut(strings.TrimSuffix(link, "]"), ":[") // mnt:[4026531841]
	n, _ := strconv.ParseUint(inode, 10, 32)
	return n
}

// parent returns the parent of the process of a hit. Who is gone by now has the one that forked it, or the
// one that it had when the run began.
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

// parentsOf returns the parents of the processes that there are.
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
