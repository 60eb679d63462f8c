package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// result is what one command did.
type result struct {
	cpu    time.Duration // user and system, with all processes it waited for
	peak   int64         // largest resident set of any of them, bytes
	stdout []byte
	stderr []byte
}

// run runs a command to its end and measures it. With output the standard
// output goes to that file in place of the result. The command is its own
// process group, which dies as a whole when the context ends.
func run(ctx context.Context, output *os.File, name string, args ...string) (result, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if output != nil {
		cmd.Stdout = output
	}
	err := cmd.Run()
	r := result{stdout: stdout.Bytes(), stderr: stderr.Bytes()}
	if state := cmd.ProcessState; state != nil {
		r.cpu = state.UserTime() + state.SystemTime()
		if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
			r.peak = usage.Maxrss << 10 // getrusage(2): kilobytes
		}
		if ctx.Err() != nil {
			r.cpu += reapGroup(cmd.Process.Pid)
		}
	}
	if err != nil {
		line := strings.Join(append([]string{name}, args...), " ")
		return r, fmt.Errorf("%s: %w\n%s", line, err, lastLines(r.stderr, 5))
	}
	return r, nil
}

// adoptOrphans makes this process the parent of processes whose own parent
// dies, so that the helpers of a killed tool can be waited for and count.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	return nil
}

// reapGroup waits for what is left of a killed process group and returns the
// CPU time it had used.
func reapGroup(group int) (cpu time.Duration) {
	for {
		var usage unix.Rusage
		switch _, err := unix.Wait4(-group, nil, 0, &usage); {
		case err == nil:
			cpu += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		case errors.Is(err, unix.EINTR):
		default:
			return cpu // ECHILD: nobody is left
		}
	}
}

// runAtMost is run with a time limit; cut says that the limit ended it, which
// is no error.
func runAtMost(ctx context.Context, limit time.Duration, output *os.File, name string, args ...string) (r result, cut bool, err error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err = run(limited, output, name, args...)
	if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		return r, true, nil
	}
	return r, false, err
}

func lastLines(text []byte, n int) []byte {
	lines := bytes.Split(bytes.TrimRight(text, "\n"), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-n):], []byte("\n"))
}
