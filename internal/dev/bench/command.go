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

// result is what one command used and printed.
type result struct {
	cpu    time.Duration // user and system time, with the processes that it waited for
	took   time.Duration // from its start to its end
	peak   int64         // largest resident set of any of these processes, in bytes
	stdout []byte
	stderr []byte
}

// background is a command that runs while something else is measured.
type background struct {
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	took           time.Duration
	done           context.Context // ends with the command
	err            error           // of Wait, once done
}

// launch starts a command in a process group of its own, which is killed when the context
// ends. If output is not nil, standard output goes to that file and not to the result. The
// caller ends the command with stop.
func launch(ctx context.Context, output *os.File, name string, args ...string) (*background, error) {
	t := &background{cmd: exec.CommandContext(ctx, name, args...)}
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	t.cmd.Cancel = func() error { return unix.Kill(-t.cmd.Process.Pid, unix.SIGKILL) }
	t.cmd.WaitDelay = 5 * time.Second
	t.cmd.Stdout, t.cmd.Stderr = &t.stdout, &t.stderr
	if output != nil {
		t.cmd.Stdout = output
	}
	start := time.Now()
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	done, ended := context.WithCancel(context.Background())
	t.done = done
	go func() {
		t.err = t.cmd.Wait()
		t.took = time.Since(start)
		ended()
	}()
	return t, nil
}

// result returns what the command used and printed. The command must have ended.
func (t *background) result() result {
	r := result{took: t.took, stdout: t.stdout.Bytes(), stderr: t.stderr.Bytes()}
	if state := t.cmd.ProcessState; state != nil {
		r.cpu = state.UserTime() + state.SystemTime()
		if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
			r.peak = usage.Maxrss << 10 // getrusage(2): kilobytes
		}
	}
	return r
}

// stop interrupts the command as Ctrl-C does, waits for its end and returns what it
// used. One that does not end within two minutes is killed.
func (t *background) stop() (result, error) {
	_ = unix.Kill(-t.cmd.Process.Pid, unix.SIGINT) // ESRCH: it has ended already
	select {
	case <-t.done.Done():
	case <-time.After(2 * time.Minute):
		_ = unix.Kill(-t.cmd.Process.Pid, unix.SIGKILL)
		<-t.done.Done()
	}
	if t.err != nil && !interrupted(t.err) {
		return t.result(), t.failed(t.err)
	}
	return t.result(), nil
}

// failed returns err with the command line and the last lines of its standard error. The command
// must have ended.
func (t *background) failed(err error) error {
	return fmt.Errorf("%s: %w\n%s", strings.Join(t.cmd.Args, " "), err, lastLines(t.stderr.Bytes(), 5))
}

// interrupted reports whether a command was ended by the signal that stop sends,
// as perf is.
func interrupted(err error) bool {
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == unix.SIGINT
}

// run runs a command to its end and measures it.
func run(ctx context.Context, output *os.File, name string, args ...string) (result, error) {
	t, err := launch(ctx, output, name, args...)
	if err != nil {
		return result{}, err
	}
	<-t.done.Done()
	r := t.result()
	if ctx.Err() != nil {
		r.cpu += reapGroup(t.cmd.Process.Pid)
	}
	if t.err != nil {
		return r, t.failed(t.err)
	}
	return r, nil
}

// adoptOrphans makes this process the parent of orphans among its descendants, so that
// it can wait for the helpers of a killed tool and count their CPU time.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the parent of orphans: %w", err)
	}
	return nil
}

// reapGroup waits for the remaining processes of a killed process group and returns the
// CPU time that they used.
func reapGroup(group int) (cpu time.Duration) {
	for {
		var usage unix.Rusage
		switch _, err := unix.Wait4(-group, nil, 0, &usage); {
		case err == nil:
			cpu += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		case errors.Is(err, unix.EINTR):
		default:
			return cpu // ECHILD: none is left
		}
	}
}

// runAtMost is run with a time limit. cut reports whether the limit ended the command,
// which is not an error.
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
