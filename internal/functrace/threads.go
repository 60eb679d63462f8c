package functrace

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
)

// setThreads has the room trace the target's threads only, and never our own.
// Threads and children that are born later are followed by the kernel
// (function-fork), in both lists.
func (r *room) setThreads(pid, tid int) error {
	if tid != 0 {
		if !(process.Host{}).Exists(tid) {
			return fmt.Errorf("thread %d: %w", tid, unix.ESRCH)
		}
		return r.set("set_ftrace_pid", strconv.Itoa(tid))
	}
	if r.instance == nil { // someone's, if force was given
		if err := r.set("set_ftrace_pid", ""); err != nil {
			return err
		}
	}
	if err := r.set("options/function-fork", "1"); err != nil {
		return err
	}
	// Before Linux 5.7 there is no such list, and Run leaves our own calls out.
	if r.fs().Has("set_ftrace_notrace_pid") && pid != os.Getpid() {
		if err := r.setProcess("set_ftrace_notrace_pid", os.Getpid()); err != nil {
			return err
		}
	}
	if pid == 0 {
		return nil
	}
	return r.setProcess("set_ftrace_pid", pid)
}

// setProcess adds the threads of a process to a list. Those that are born
// meanwhile may be of a thread that was not in the list yet: it looks again until
// there are no more.
func (r *room) setProcess(list string, pid int) error {
	listed := map[string]bool{}
	for {
		threads, err := process.Host{}.Threads(pid)
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("process %d: %w", pid, unix.ESRCH)
		} else if err != nil {
			return err
		}
		var tids []string
		for _, thread := range threads {
			if tid := strconv.Itoa(thread); !listed[tid] {
				listed[tid] = true
				tids = append(tids, tid)
			}
		}
		if len(tids) == 0 {
			return nil
		}
		if err := r.add(list, strings.Join(tids, "\n")); err != nil {
			return fmt.Errorf("trace process %d: %w", pid, err)
		}
	}
}

// ended tells whether nothing of the target is left: the kernel takes threads
// that end off the list.
func (r *room) ended(pid, tid int) bool {
	switch {
	case tid != 0:
		return !process.Host{}.Exists(tid)
	case pid != 0:
		list, err := readFile(r.fs(), "set_ftrace_pid")
		return err == nil && strings.Trim(list, "\n") == ""
	}
	return false
}
