package perfevent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/host/proc"
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
	tree    bool // include the descendants that the processes have already
	cgroup  string
	command *Command
}

// System is everything on this host (or in this VM), on all online CPUs. It
// needs privileges: CAP_PERFMON, or kernel.perf_event_paranoid at most 0.
func System() Target { return Target{kind: systemTarget} }

// Process is one process or several with all their threads, and the threads
// and children that they create from now on.
func Process(pids ...int) Target { return Target{kind: processTarget, pids: pids} }

// ProcessTree is Process plus the descendants that the processes have already. The target is gone
// when all of these have ended.
func ProcessTree(pids ...int) Target { return Target{kind: processTarget, pids: pids, tree: true} }

// Thread is one thread or several, without the threads and children that they create. Records
// other than samples come from their whole processes, since any thread can map code for all
// threads.
func Thread(tids ...int) Target { return Target{kind: threadTarget, pids: tids} }

// InCgroup is the processes of a control group and of the groups below it. path is a directory
// of a cgroup v2 file system, or of the v1 hierarchy that has the perf_event controller. It needs
// the privileges of System. Records other than samples come from the whole system.
func InCgroup(path string) Target { return Target{kind: cgroupTarget, cgroup: path} }

// Beside returns the target for a second session on t. Only the first session releases or kills a
// Started command. The second session includes the descendants that the processes have by now.
func (t Target) Beside() Target {
	t.command, t.tree = nil, t.kind == processTarget
	return t
}

// Started is a command that StartCommand holds before its first instruction. Session.Enable or
// Session.Start lets it run. Session.Close kills it if it is still held.
func Started(c *Command) Target {
	return Target{kind: processTarget, pids: []int{c.PID()}, command: c}
}

// Held reports whether the target is a Started command. Until Enable, such a process has not run and so
// has mapped nothing itself.
func (t Target) Held() bool { return t.command != nil }

// PIDs returns the processes or threads that the target was made from, including a Started command
// but no descendants. It returns none for the system and for control groups.
func (t Target) PIDs() []int { return slices.Clone(t.pids) }

// Cgroup returns the directory of the target's control group, or "" if the target is not one.
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

// PerSampling returns how many events a session opens for each sampling of the target. It returns
// 0 if that is not known, or grows because new threads inherit a process's events.
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

// watched is a process, a thread or a cgroup. Read ends when all of them have ended.
type watched struct {
	pid, tid int    // for a process target, tid is the first thread's
	pidfd    int    // -1 if the kernel has none for it
	path     string // of a cgroup
	ended    bool
}

// pidfdThread asks pidfd_open(2) for a single thread (PIDFD_THREAD, Linux 6.9).
const pidfdThread = unix.O_EXCL

// watch finds the target's processes or threads and opens a pidfd for each, so that a reused pid is
// not taken for one of them.
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

// watchProcess adds a process to s.watched, or its thread tid if the target is threads.
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

// watchDescendants adds the descendants of a ProcessTree that are not in s.watched yet, and reports
// whether there were any.
func (s *Session) watchDescendants() (found bool, err error) {
	if !s.target.tree {
		return false, nil
	}
	known := make(map[int]bool)
	for i := range s.watched {
		known[s.watched[i].pid] = true
	}
	known[os.Getpid()] = true // our own children do not belong to the target
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

// gone reports whether everything in s.watched has ended.
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
		stat, err := host.Stat(fmt.Sprintf("%d/task/%d", w.pid, w.tid))
		w.ended = err != nil || stat.Ended()
	}
	return w.ended
}

func (w *watched) close() error {
	if w.pidfd < 0 {
		return nil
	}
	return unix.Close(w.pidfd)
}

// host is the machine whose processes are watched.
const host = proc.Live

// listsAll reports whether tids, a list of a process's threads that was just read, is complete. The
// kernel lists /proc/PID/task from each thread to the next one. If a thread has ended meanwhile, it
// continues by position and may skip threads that live (proc_task_readdir in fs/proc/base.c). The
// list is complete if the process has as many threads, and all in the list still exist after that
// count.
func listsAll(pid int, tids []int) bool {
	n, err := host.StatusNumber(pid, "Threads")
	if err != nil || n != len(tids) {
		return false
	}
	for _, tid := range tids {
		if errors.Is(unix.Tgkill(pid, tid, 0), unix.ESRCH) {
			return false
		}
	}
	return true
}

// processOf returns the process that a thread belongs to.
func processOf(tid int) (int, error) { return host.StatusNumber(tid, "Tgid") }

// maxCPUs bounds what a CPU list may name; kernels are built for at most 8192.
const maxCPUs = 1 << 16

// anyCPU stands for all CPUs, for an event that follows a thread.
const anyCPU = -1

// OnlineCPUs returns the CPUs that a session on the whole system watches.
func OnlineCPUs() ([]int, error) { return onlineCPUs() }

// NohzFullCPUs returns the CPUs that are reserved for one thread each (nohz_full=). No other thread
// should run there.
func NohzFullCPUs() ([]int, error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/nohz_full")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the kernel has no such CPUs
	}
	if err != nil {
		return nil, fmt.Errorf("list nohz_full CPUs: %w", err)
	}
	list := strings.TrimSpace(string(text))
	if list == "" || list == "(null)" {
		return nil, nil
	}
	cpus, err := ParseCPUs(list)
	if err != nil {
		return nil, fmt.Errorf("list nohz_full CPUs: %w", err)
	}
	return cpus, nil
}

// onlineCPUs lists the CPUs that are online now. A CPU that comes online later is not watched:
// that is rare during a session.
func onlineCPUs() ([]int, error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, fmt.Errorf("list online CPUs: %w", err)
	}
	cpus, err := ParseCPUs(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("list online CPUs: %w", err)
	}
	return cpus, nil
}

// ParseCPUs reads a list of CPUs as the kernel writes it, such as "0-3,8" (cpuset(7), List format).
func ParseCPUs(list string) ([]int, error) {
	var cpus []int
	for _, part := range strings.Split(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.ParseUint(from, 10, 16)
		last, err2 := strconv.ParseUint(to, 10, 16)
		if err1 != nil || err2 != nil || last < first || len(cpus) > maxCPUs {
			return nil, fmt.Errorf("bad CPU list %q", list)
		}
		for c := first; c <= last; c++ {
			cpus = append(cpus, int(c))
		}
	}
	return cpus, nil
}
