package target

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"github.com/ringtap/ringtap/internal/cgroup"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/usage"
)

// Search is for processes to look at once, or again and again while some end and begin.
type Search struct {
	Names  []string // numbers or names; with Cgroup numbers are as its processes see them
	Tree   bool     // their descendants, too
	Cgroup string   // only its processes, all without Names
}

// Owners has processes in the place of numbers that are those of threads, and tells of
// each in a note.
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

// Find finds the processes, and which of them were named by their numbers. By name or as
// a child the caller is not among them.
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

// one finds what one name stands for among processes.
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

// processesIn lists the processes of a control group and of those below it.
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
