package functrace

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
)

// setThreads makes the tracer trace the target's threads only, and never ringtap's own. The kernel
// adds new threads and children to both lists (function-fork).
func (r *tracing) setThreads(pids []int, tid int) error {
	if tid != 0 {
		if !(process.Host{}).Exists(tid) {
			return fmt.Errorf("thread %d: %w", tid, unix.ESRCH)
		}
		return r.set("set_ftrace_pid", strconv.Itoa(tid))
	}
	if r.instance == nil { // someone else's list, with Force
		if err := r.set("set_ftrace_pid", ""); err != nil {
			return err
		}
	}
	if err := r.set("options/function-fork", "1"); err != nil {
		return err
	}
	// Before Linux 5.7 there is no such list, and run.hand leaves out ringtap's own calls.
	if r.fs().Has("set_ftrace_notrace_pid") && !slices.Contains(pids, os.Getpid()) {
		if err := r.setProcess("set_ftrace_notrace_pid", os.Getpid()); err != nil {
			return err
		}
	}
	var ended error
	for _, pid := range pids {
		err := r.setProcess("set_ftrace_pid", pid)
		if errors.Is(err, unix.ESRCH) && len(pids) > 1 {
			ended = err
		} else if err != nil {
			return err
		}
	}
	if len(pids) > 0 && r.ended(pids, 0) {
		return ended
	}
	return nil
}

// setProcess adds the threads of a process to a list.
func (r *tracing) setProcess(list string, pid int) error {
	return process.Host{}.AddThreads(pid, func(lines string) error { return r.add(list, lines) })
}

// ended reports whether the target has ended. The kernel removes threads that end from the list.
func (r *tracing) ended(pids []int, tid int) bool {
	switch {
	case tid != 0:
		return !process.Host{}.Exists(tid)
	case len(pids) > 0:
		list, err := readFile(r.fs(), "set_ftrace_pid")
		return err == nil && strings.Trim(list, "\n") == ""
	}
	return false
}
