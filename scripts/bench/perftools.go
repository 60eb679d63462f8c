package main

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

const (
	debugfs       = "/sys/kernel/debug"
	perfToolsLock = "/var/tmp/.ftrace-lock"
)

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
