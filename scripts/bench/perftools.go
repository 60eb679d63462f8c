package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
)

const (
	debugfs       = "/sys/kernel/debug"
	perfToolsLock = "/var/tmp/.ftrace-lock"
)

// perfToolsUprobe is the uprobe script of the perf-tools checkout that
// PERF_TOOLS_DIR names. It is the one tool here that clears the kernel's shared
// trace buffer, and it refuses to run beside another of its kind.
func (b *bench) perfToolsUprobe(alias string) tracer {
	script := filepath.Join(b.perfTools, "user", "uprobe")
	t := tracer{
		name:  "perf-tools' uprobe",
		args:  []string{script, "p:" + alias + " libc:a64l"},
		count: lineCounter(alias),
		cleanUp: func(pid int) error {
			return errors.Join(removeUprobe("uprobes", alias), removeLock(perfToolsLock, pid))
		},
	}
	if b.perfTools == "" {
		t.missing = "PERF_TOOLS_DIR is not set"
	} else if _, err := os.Stat(script); err != nil {
		t.missing = err.Error()
	}
	return t
}

// mountDebugfs mounts debugfs, where the script looks for tracefs, if it is not
// mounted. The function returned takes it away again.
func mountDebugfs() (unmount func(), err error) {
	tracing := filepath.Join(debugfs, "tracing")
	if _, err := os.Stat(tracing); err == nil {
		return func() {}, nil
	}
	if err := unix.Mount("debugfs", debugfs, "debugfs", 0, ""); err != nil {
		return nil, fmt.Errorf("mount debugfs for perf-tools: %w", err)
	}
	return func() {
		// tracefs mounted itself below. What another process has come to use
		// meanwhile stays.
		_ = unix.Unmount(tracing, 0)
		_ = unix.Unmount(debugfs, 0)
	}, nil
}

// removeUprobe removes an event of tracefs, if it is there.
func removeUprobe(group, name string) error {
	tracefs, err := ftrace.Find()
	if err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(tracefs.Dir(), "events", group, name, "enable"), []byte("0"), 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	events, opened := os.OpenFile(filepath.Join(tracefs.Dir(), "uprobe_events"), os.O_WRONLY|os.O_APPEND, 0)
	if opened != nil {
		return errors.Join(err, opened)
	}
	defer events.Close()
	_, written := events.WriteString("-:" + group + "/" + name + "\n")
	return errors.Join(err, written)
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
