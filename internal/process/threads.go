package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// AddThreads adds the threads of a process to a list in tracefs. It calls add with their ids,
// one per line. A new thread may come from a thread that was not in the list yet, so it looks
// again until there are no more. The error is unix.ESRCH if the process does not exist.
func (h Host) AddThreads(pid int, add func(lines string) error) error {
	listed := map[string]bool{}
	for {
		threads, err := h.Threads(pid)
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("process %d: %w", pid, unix.ESRCH)
		} else if err != nil {
			return fmt.Errorf("process %d: %w", pid, err)
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
		if err := add(strings.Join(tids, "\n")); err != nil {
			return fmt.Errorf("trace process %d: %w", pid, err)
		}
	}
}
