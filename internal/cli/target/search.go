package target

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/ringtap/ringtap/internal/cli/usage"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/process/cgroup"
)

// Search selects processes. Find may be called repeatedly while processes start and end.
type Search struct {
	Names  []string // PIDs or names; with Cgroup, PIDs as the group's processes see them
	Tree   bool     // also their descendants
	Cgroup string   // only processes of this control group; all of them if Names is empty
}

// Owners replaces each thread ID in Names by the PID of the thread's process, and returns a
// note about it. With Cgroup it changes nothing.
func (s *Search) Owners(host process.Host) (notes []string) {
	for i, name := range s.Names {
		if tid, err := strconv.Atoi(name); err == nil && s.Cgroup == "" {
			if status, err := host.Status(tid); err == nil && status.TGID != tid {
				notes = append(notes, fmt.Sprintf("%d is a thread; showing its process %d %s", tid, status.TGID, host.Comm(status.TGID)))
				s.Names[i] = strconv.Itoa(status.TGID)
			}
		}
	}
	return notes
}

// Find returns the PIDs of the processes. asked[pid] is true if Names has that PID. The
// calling process is found only by its PID, and never with Cgroup.
func (s *Search) Find(host process.Host) (pids []int, asked map[int]bool, err error) {
	all, err := others(host)
	if err != nil {
		return nil, nil, err
	}
	among := all
	if s.Cgroup != "" {
		if among, err = processesIn(s.Cgroup); err != nil {
			return nil, nil, err
		}
		among = slices.DeleteFunc(among, func(pid int) bool { return pid == os.Getpid() })
	}
	if len(s.Names) == 0 {
		pids = among
	}
	asked = make(map[int]bool)
	for _, name := range s.Names {
		found, err := s.one(host, among, name)
		if err != nil {
			return nil, nil, err
		}
		for _, pid := range found {
			pids = appendNew(pids, pid)
			asked[pid] = asked[pid] || name == strconv.Itoa(pid)
		}
	}
	if s.Tree {
		pids = host.WithChildren(all, pids)
	}
	return pids, asked, nil
}

// one returns the PIDs of the processes that name selects. name is a PID or a process name. one
// searches only the processes in among. But without Cgroup it returns a PID as it is, even if no
// such process exists.
func (s *Search) one(host process.Host, among []int, name string) ([]int, error) {
	if pid, err := strconv.Atoi(name); err == nil && pid > 0 && s.Cgroup != "" {
		if found := host.InNamespace(among, pid); len(found) > 0 {
			return found, nil
		}
		return nil, fmt.Errorf("no process in %s has number %d there", s.Cgroup, pid)
	}
	found, err := lookup(host, among, name)
	switch {
	case errors.As(err, new(*NoNameError)):
		return nil, err
	case err != nil:
		return nil, usage.Errorf("%q %w", name, err)
	}
	return found, nil
}

// processesIn lists the processes of a control group and of the groups below it.
func processesIn(name string) ([]int, error) {
	path, err := cgroup.Find(name)
	if err != nil {
		return nil, fmt.Errorf("-g %s: %w", name, err)
	}
	pids, err := cgroup.Processes(path)
	if err != nil {
		return nil, fmt.Errorf("list the processes of a control group: %w", err)
	}
	if len(pids) == 0 {
		return nil, fmt.Errorf("no process is in control group %s", path)
	}
	return pids, nil
}
