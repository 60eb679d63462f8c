package perfevent

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/proc"
)

// host is the machine whose processes are watched.
const host = proc.Live

// listsAll reports whether a list of threads that was just read names all that
// live. The kernel goes through /proc/PID/task from one thread to the next it made, and
// by position where a thread has ended meanwhile, named or not yet: then it leaves out
// others that live (proc_task_readdir in fs/proc/base.c). A list is whole if there are
// as many threads, and all that it names are still there after they were counted.
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
