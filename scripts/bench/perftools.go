package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	debugfs       = "/sys/kernel/debug"
	perfToolsLock = "/var/tmp/.ftrace-lock"
)

// removeUprobes removes what perf-tools' uprobe leaves behind when it is killed. It is
// the one tool here that clears the kernel's shared trace buffer, and it refuses to run
// beside another of its kind.
func removeUprobes(s *session, pid int) error {
	_, err := s.run(context.Background(), "sh -c 'cd $tracefs; [ -d events/uprobes/$group ] || exit 0; "+
		`echo 0 >events/uprobes/$group/enable; echo "-:uprobes/$group" >>uprobe_events'`)
	return errors.Join(err, removeLock(perfToolsLock, pid))
}

// mountDebugfs mounts debugfs, where the scripts look for tracefs, if it is not
// mounted, for as long as the measurement takes.
func (s *session) mountDebugfs() error {
	tracing := filepath.Join(debugfs, "tracing")
	if _, err := os.Stat(tracing); err == nil {
		return nil
	}
	if err := unix.Mount("debugfs", debugfs, "debugfs", 0, ""); err != nil {
		return fmt.Errorf("mount debugfs for perf-tools: %w", err)
	}
	s.cleanUp(func() error {
		// tracefs mounted itself below. What another process has come to use
		// meanwhile stays.
		_ = unix.Unmount(tracing, 0)
		_ = unix.Unmount(debugfs, 0)
		return nil
	})
	return nil
}

// removeLock removes the lock file that a script with this pid has left.
func removeLock(path string, pid int) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if string(bytes.TrimSpace(text)) != strconv.Itoa(pid) {
		return nil // of another one
	}
	return os.Remove(path)
}
