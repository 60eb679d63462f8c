// Package launch starts the command that a run is about and sees to its end, with all that
// it has started.
//
//	Start → held → (perfevent: events armed) → runs → End: status, who is left
//	                      └ an error → Leave
//
// The command stays in the caller's process group, so that the terminal treats it as it
// would without the caller: it may read, Ctrl-C reaches it, and Ctrl-Z stops both. What it
// starts is found by descent instead (AdoptOrphans).
package launch

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/target"
	"github.com/ringtap/ringtap/perfevent"
)

// StatusError is the exit status of a command that failed on its own account: the run did
// its work, and passes the status on.
type StatusError int

func (e StatusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Open is a target as events have it, and its command, which it starts and holds as Start
// does; nil if there is none. The caller sees to the command's end by End or Leave.
func Open(t *target.Target) (perfevent.Target, *perfevent.Command, error) {
	if t.Command == nil {
		return t.Watched(), nil, nil
	}
	command, err := Start(t.Command)
	if err != nil {
		return perfevent.Target{}, nil, err
	}
	return perfevent.Started(command), command, nil
}

// Start starts a command. It is held before its first instruction until the events are
// armed; its output is the caller's.
func Start(args []string) (*perfevent.Command, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	command, err := perfevent.StartCommand(cmd)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", args[0], err)
	}
	if isSubreaper() {
		children := make(chan os.Signal, 1)
		signal.Notify(children, unix.SIGCHLD)
		go reapOrphans(children, command.PID())
	}
	return command, nil
}

// AdoptOrphans has the kernel make orphans among the processes that this one started its own
// children (PR_SET_CHILD_SUBREAPER), so that they are found by descent. It is for a process
// whose children are all this package's to end.
func AdoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // every kernel since 3.4 knows it
}

// isSubreaper tells whether AdoptOrphans was called.
func isSubreaper() bool {
	var is int32
	err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&is)), 0, 0, 0)
	return err == nil && is != 0
}

// reapOrphans takes the exit status of every child but the command, whose status is
// waited for elsewhere.
func reapOrphans(children <-chan os.Signal, command int) {
	for range children {
		for {
			var ended unix.Siginfo
			err := unix.Waitid(unix.P_ALL, 0, &ended, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
			pid := childOf(&ended)
			// A held command's stop is told too, to its tracer only once.
			if err != nil || pid == 0 || pid == command || ended.Code == cldTrapped {
				break
			}
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

// cldTrapped is CLD_TRAPPED of the kernel's asm-generic/siginfo.h.
const cldTrapped = 4

// childOf returns the process that waitid(2) tells of, 0 for none: si_pid, which lies
// there on 64-bit machines.
func childOf(info *unix.Siginfo) int {
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), 16)))
}

// started lists the processes that a command has started, each behind its parent: those that
// descend from it and, where orphans are ours, from this process. A process that began a
// session of its own is a daemon, and not among them.
func started(command int) []int {
	all, err := process.Host{}.Processes()
	if err != nil {
		return nil
	}
	root := command
	if isSubreaper() {
		root = os.Getpid()
	}
	if root == 0 {
		return nil
	}
	session, err := unix.Getsid(0)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(process.Host{}.WithChildren(all, []int{root}), func(pid int) bool {
		of, err := unix.Getsid(pid)
		return pid == root || err != nil || of != session
	})
}

// signalRounds bounds how often Signal looks for processes that were started
// meanwhile.
const signalRounds = 100

// Signal sends s to each process that a command has started, but not to the command,
// which has got it (0 for any command): parents first, so that a shell does not go on to its next command.
func Signal(s syscall.Signal, command int) {
	told := map[int]bool{command: true}
	for range signalRounds {
		before := len(told)
		for _, pid := range started(command) {
			if !told[pid] {
				told[pid] = true
				_ = unix.Kill(pid, s) // it may have ended by itself
			}
		}
		if len(told) == before {
			return
		}
	}
}

// Leave sees to it that the command does not stay behind, whatever has failed:
// neither held, if the run never came to let it go, nor running.
func Leave(command *perfevent.Command) {
	if command == nil {
		return
	}
	command.Kill()
	if command.Stop() {
		Signal(unix.SIGTERM, command.PID())
		_, _ = command.Wait() // there is another error to tell
	}
}

// patience is how long a command may take to end before End tells what it waits for.
const patience = time.Second

// Echo is how long a signal may take to come twice before the second one means
// something: timeout(1) sends one to its command and one to the command's group, and
// wrappers pass on what the terminal has sent to all.
const Echo = 250 * time.Millisecond

// End waits for the end of the command that was run, if there is one, and
// returns a StatusError if it failed by itself. One that still runs, because the
// run was shorter, is told to end, and so is all that it has started. What a command
// that ended by itself has left running is told.
func End(ctx context.Context, stderr io.Writer, command *perfevent.Command) error {
	if command == nil {
		return nil
	}
	stopped := command.Stop()
	if stopped || ctx.Err() != nil {
		Signal(unix.SIGTERM, command.PID())
	}
	late := time.AfterFunc(patience, func() {
		fmt.Fprintf(stderr, "waiting for process %d to end; Ctrl-C kills it\n", command.PID())
	})
	state, err := command.Wait()
	late.Stop()
	if err != nil {
		return err
	}
	status := state.Sys().(syscall.WaitStatus)
	if !stopped && ctx.Err() == nil && interrupted(status) {
		// The terminal has sent it to all. That it has come here may take a moment.
		select {
		case <-ctx.Done():
		case <-time.After(Echo):
		}
		Signal(unix.SIGTERM, command.PID()) // shells have what runs in the background ignore it
	} else if !stopped && ctx.Err() == nil {
		sayLeft(stderr, started(command.PID()))
	}
	switch {
	case stopped, ctx.Err() != nil:
		return nil
	case status.Signaled():
		return StatusError(128 + int(status.Signal()))
	case status.ExitStatus() != 0:
		return StatusError(status.ExitStatus())
	}
	return nil
}

// interrupted tells whether a command ended by a signal that a person sends, itself or
// as a shell tells of its last command.
func interrupted(status syscall.WaitStatus) bool {
	s := status.Signal()
	if !status.Signaled() {
		s = syscall.Signal(status.ExitStatus() - 128)
	}
	return s == unix.SIGINT || s == unix.SIGQUIT || s == unix.SIGTERM || s == unix.SIGHUP
}

// mostLeft is how many processes sayLeft names.
const mostLeft = 5

func sayLeft(stderr io.Writer, left []int) {
	var names []string
	for _, pid := range left {
		if comm := (process.Host{}).Comm(pid); comm != "" && len(names) < mostLeft {
			names = append(names, fmt.Sprintf("%d %s", pid, escape.Text(comm)))
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(stderr, "note: the command has ended and left processes running (%d): %s\n", len(left), strings.Join(names, ", "))
	}
}
