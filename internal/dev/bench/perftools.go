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

// mountDebugfs mounts debugfs for the time of the measurement, unless it is mounted
// already. perf-tools' scripts look there for tracefs.
func (s *session) mountDebugfs() error {
	tracing := filepath.Join(debugfs, "tracing")
	if _, err := os.Stat(tracing); err == nil {
		return nil
	}
	if err := unix.Mount("debugfs", debugfs, "debugfs", 0, ""); err != nil {
		return fmt.Errorf("mount debugfs for perf-tools: %w", err)
	}
	s.cleanUp(func() error {
		// The kernel mounts tracefs below debugfs by itself. A mount that another
		// process now uses stays.
		_ = unix.Unmount(tracing, 0)
		_ = unix.Unmount(debugfs, 0)
		return nil
	})
	return nil
}
