package perfevent

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/proc"
)

// watched is something whose end ends Read: a process, a thread or a cgroup.
type watched struct {
	pid, tid int    // the process; the thread is the process's first for a process target
	pidfd    int    // -1 where the kernel has none for it
	path     string // of a cgroup
	ended    bool
}

// pidfdThread asks pidfd_open(2) for a single thread (PIDFD_THREAD, Linux 6.9).
const pidfdThread = unix.O_EXCL

// watch finds the target's processes and takes hold of them, so that a pid that
// is used again cannot be taken for them.
func (s *Session) watch() error {
	for _, tid := range s.target.pids {
		pid, err := processOf(tid)
		if err != nil {
			e := s.openError("", nil, unix.ESRCH)
			if len(s.target.pids) > 1 { // which of them
				e.Err = fmt.Errorf("%d: %w", tid, unix.ESRCH)
			}
			return e
		}
		if err := s.watchProcess(pid, tid); err != nil {
			return err
		}
	}
	return nil
}

// watchProcess takes hold of a process, or of one of its threads where the target is that.
func (s *Session) watchProcess(pid, tid int) error {
	flags := 0
	if s.target.kind == threadTarget {
		flags = pidfdThread
	} else {
		tid = pid
	}
	fd, err := unix.PidfdOpen(tid, flags)
	switch {
	case errors.Is(err, unix.ESRCH):
		return s.openError("", nil, err)
	case err != nil: // Linux before 5.3, or before 6.9 for a thread
		fd = -1
	default:
		if err := s.poll.add(fd, unix.EPOLLIN|unix.EPOLLONESHOT); err != nil {
			return errors.Join(err, unix.Close(fd))
		}
	}
	s.watched = append(s.watched, watched{pid: pid, tid: tid, pidfd: fd})
	return nil
}

// watchDescendants takes hold of the descendants of a target of ProcessTree that are not
// watched yet, and reports whether there were any.
func (s *Session) watchDescendants() (found bool, err error) {
	if !s.target.tree {
		return false, nil
	}
	known := make(map[int]bool)
	for i := range s.watched {
		known[s.watched[i].pid] = true
	}
	known[os.Getpid()] = true // what this process starts is not the target's
	parents, err := host.Parents()
	if err != nil {
		return false, err
	}
	for again := true; again; {
		again = false
		for pid, parent := range parents {
			if known[pid] || !known[parent] || parent == os.Getpid() {
				continue
			}
			known[pid], again = true, true
			err := s.watchProcess(pid, pid)
			if err != nil && !errors.Is(err, ErrNoTarget) {
				return false, err
			}
			found = found || err == nil
		}
	}
	return found, nil
}

// Processes returns the ids of the processes that the session was opened on, or
// that hold its threads; nil for a cgroup and for the whole system.
func (s *Session) Processes() []int {
	var pids []int
	for i := range s.watched {
		if pid := s.watched[i].pid; pid != 0 && !slices.Contains(pids, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// gone reports whether all that was to be watched has ended.
func (s *Session) gone() bool {
	if len(s.watched) == 0 {
		return false
	}
	for i := range s.watched {
		if !s.watched[i].hasEnded() {
			return false
		}
	}
	return true
}

func (w *watched) hasEnded() bool {
	switch {
	case w.ended:
	case w.pidfd >= 0:
		p := []unix.PollFd{{Fd: int32(w.pidfd), Events: unix.POLLIN}}
		n, err := unix.Poll(p, 0)
		w.ended = err == nil && n > 0
	case w.path != "":
		_, err := os.Stat(w.path)
		w.ended = errors.Is(err, os.ErrNotExist)
	default:
		text, err := host.Read(w.pid, fmt.Sprintf("task/%d/stat", w.tid))
		stat, ok := proc.ParseStat(text)
		w.ended = err != nil || !ok || stat.Ended()
	}
	return w.ended
}

func (w *watched) close() error {
	if w.pidfd < 0 {
		return nil
	}
	return unix.Close(w.pidfd)
}
