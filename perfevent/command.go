package perfevent

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Command is a started program that is held before its first instruction until the session
// that watches it is enabled. ptrace(2) holds it: the child requests to be traced and execs,
// and the kernel stops it once the new program is in place. Detaching lets it run. If exec
// fails, StartCommand returns the error before any event is opened. The events see nothing but
// the program itself.
//
// ptrace has two costs. A program's set-user-ID bit has no effect if the caller lacks
// CAP_SYS_PTRACE, and a host with kernel.yama.ptrace_scope 3 refuses.
type Command struct {
	cmd  *exec.Cmd
	once sync.Once
	let  chan bool  // true: run, false: kill
	done chan error // the result of running or killing it
}

// StartCommand starts cmd, which must not have been started, and holds it. It sets the Ptrace
// flag in cmd.SysProcAttr and keeps the rest. If exec fails, the error wraps that of cmd.Start:
// exec.ErrNotFound, fs.ErrPermission and so on.
//
// If this process ends while the command is held, the kernel kills the command.
func StartCommand(cmd *exec.Cmd) (*Command, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Ptrace = true
	c := &Command{cmd: cmd, let: make(chan bool, 1), done: make(chan error, 1)}
	started := make(chan error)
	go c.hold(started)
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

// hold starts, holds and releases the child on one thread: the kernel accepts ptrace requests
// only from the thread that started the child.
func (c *Command) hold(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.cmd.Start(); err != nil {
		started <- startError(c.cmd.Path, err)
		return
	}
	pid := c.cmd.Process.Pid
	var status unix.WaitStatus
	for {
		_, err := unix.Wait4(pid, &status, unix.WALL, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			started <- fmt.Errorf("hold %s: wait for its exec: %w", c.cmd.Path, err)
			return
		}
		break
	}
	if !status.Stopped() {
		started <- fmt.Errorf("hold %s: it ended before it ran (status %#x)", c.cmd.Path, uint32(status))
		return
	}
	if err := unix.PtraceSetOptions(pid, unix.PTRACE_O_EXITKILL); err != nil {
		c.end()
		started <- fmt.Errorf("hold %s: %w", c.cmd.Path, err)
		return
	}
	started <- nil
	if !<-c.let {
		c.end()
		c.done <- nil
		return
	}
	if err := unix.PtraceDetach(pid); err != nil {
		c.done <- fmt.Errorf("let %s run: %w", c.cmd.Path, err)
		return
	}
	c.done <- nil
}

// end kills and reaps the child. Errors do not matter: the child may be gone already.
func (c *Command) end() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

// startError adds to err why a host refuses to hold programs, if it does.
func startError(path string, err error) error {
	if scope, readErr := host.Sysctl("kernel/yama/ptrace_scope"); readErr == nil &&
		scope == "3" && os.IsPermission(err) {
		return fmt.Errorf("start %s: %w (kernel.yama.ptrace_scope is 3: no program can be held)", path, err)
	}
	return err
}

// PID returns the process id of the command.
func (c *Command) PID() int { return c.cmd.Process.Pid }

// release lets the command run. Only the first call of release or kill acts.
func (c *Command) release() error {
	err := error(nil)
	c.once.Do(func() {
		c.let <- true
		err = <-c.done
	})
	return err
}

// Kill ends a command that is still held. It does nothing to one that runs.
func (c *Command) Kill() {
	c.once.Do(func() {
		c.let <- false
		<-c.done
	})
}

// Stop sends SIGTERM to a command that was released and still runs. It returns false if the
// command has ended or the signal could not be sent.
func (c *Command) Stop() bool {
	var ended unix.Siginfo
	err := unix.Waitid(unix.P_PID, c.PID(), &ended, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	if err != nil || ended.Signo != 0 {
		return false
	}
	return c.cmd.Process.Signal(syscall.SIGTERM) == nil
}

// Wait waits until a command that was released has ended, and returns its exit status or
// signal. An error means that the state is unknown, not that the command failed.
func (c *Command) Wait() (*os.ProcessState, error) {
	err := c.cmd.Wait()
	if c.cmd.ProcessState == nil {
		return nil, fmt.Errorf("wait for %s: %w", c.cmd.Path, err)
	}
	return c.cmd.ProcessState, nil
}
