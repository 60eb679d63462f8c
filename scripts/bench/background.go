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

// background is a tool that runs while something else is measured.
type background struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	done   context.Context // ends with the tool
	err    error           // of Wait, once done
}

// launch starts a tool in a process group of its own, with its standard output
// in a file, or nowhere. The caller ends it by stop.
func launch(ctx context.Context, output *os.File, name string, args ...string) (*background, error) {
	t := &background{cmd: exec.CommandContext(ctx, name, args...)}
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	t.cmd.Cancel = func() error { return unix.Kill(-t.cmd.Process.Pid, unix.SIGKILL) }
	t.cmd.WaitDelay = 5 * time.Second
	t.cmd.Stderr = &t.stderr
	if output != nil {
		t.cmd.Stdout = output
	}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	done, ended := context.WithCancel(context.Background())
	t.done = done
	go func() {
		t.err = t.cmd.Wait()
		ended()
	}()
	return t, nil
}

// onOtherCPU is the command line that keeps a tool away from the CPU of the
// hits.
func onOtherCPU(args ...string) []string { return append([]string{"taskset", "-c", "0"}, args...) }

// stop interrupts the tool as Ctrl-C does, waits for its end and returns what it
// used. One that does not end within two minutes is killed.
func (t *background) stop() (result, error) {
	_ = unix.Kill(-t.cmd.Process.Pid, unix.SIGINT) // ESRCH: it has ended by itself
	select {
	case <-t.done.Done():
	case <-time.After(2 * time.Minute):
		_ = unix.Kill(-t.cmd.Process.Pid, unix.SIGKILL)
		<-t.done.Done()
	}
	r := result{stderr: t.stderr.Bytes()}
	if state := t.cmd.ProcessState; state != nil {
		r.cpu = state.UserTime() + state.SystemTime()
	}
	if t.err != nil && !interrupted(t.err) {
		return r, t.failed(t.err)
	}
	return r, nil
}

// failed is an error with what the tool, which has ended, said of it.
func (t *background) failed(err error) error {
	return fmt.Errorf("%s: %w\n%s", strings.Join(t.cmd.Args, " "), err, lastLines(t.stderr.Bytes(), 5))
}

// interrupted says whether a command ended by the signal that stop sends, which
// is how perf ends.
func interrupted(err error) bool {
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == unix.SIGINT
}

// underProbe runs f while a tool has its probe in place, and returns what the
// tool used from its start to its end.
func (h *hits) underProbe(ctx context.Context, args []string, f func() error) (result, error) {
	tool, err := launch(ctx, nil, args[0], args[1:]...)
	if err != nil {
		return result{}, err
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(tool.done, cancel)()
	err = h.await(waiting, true)
	if err == nil {
		select {
		case <-time.After(settle):
			err = f()
		case <-waiting.Done():
			err = waiting.Err()
		}
	}
	r, ended := tool.stop()
	switch {
	case ended != nil:
		return r, ended
	case err != nil:
		return r, tool.failed(err)
	}
	return r, h.await(ctx, false)
}
