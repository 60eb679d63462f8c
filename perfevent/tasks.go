package perfevent

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// listThreads returns the threads of a process, in the kernel's order.
func listThreads(pid int) ([]int, error) {
	dir, err := os.Open(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	tids := make([]int, 0, len(names))
	for _, name := range names {
		if tid, convErr := strconv.Atoi(name); convErr == nil {
			tids = append(tids, tid)
		}
	}
	// A process that ends while it is being read leaves what was seen.
	if len(tids) == 0 && err != nil {
		return nil, err
	}
	return tids, nil
}

// listsAll reports whether a list of threads that was just read names all that
// live. The kernel goes through /proc/PID/task from one thread to the next it made, and
// by position where a thread has ended meanwhile, named or not yet: then it leaves out
// others that live (proc_task_readdir in fs/proc/base.c). A list is whole if there are
// as many threads, and all that it names are still there after they were counted.
func listsAll(pid int, tids []int) bool {
	n, err := statusNumber(pid, "Threads")
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

// listParents returns the parent of every process.
func listParents() (map[int]int, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	parents := make(map[int]int)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if parent, err := statusNumber(pid, "PPid"); err == nil { // else it has ended
			parents[pid] = parent
		}
	}
	return parents, nil
}

// processOf returns the process that a thread belongs to.
func processOf(tid int) (int, error) { return statusNumber(tid, "Tgid") }

// statusNumber returns a number of the status of a process or thread
// (proc_pid_status(5)).
func statusNumber(id int, name string) (int, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", id))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if text, ok := strings.CutPrefix(lines.Text(), name+":"); ok {
			return strconv.Atoi(strings.TrimSpace(text))
		}
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	return 0, fmt.Errorf("/proc/%d/status names no %s", id, name)
}
