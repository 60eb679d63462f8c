// Package launch starts the command that a run measures, and ends it and the processes that it
// started.
//
//	Start → held → (perfevent: events armed) → runs → End: status, processes left
//	                      └ an error → Leave
//
// The command stays in the caller's process group, so that the terminal treats it as it
// would without the caller: it may read, Ctrl-C reaches it, and Ctrl-Z stops both. The
// processes that it starts are therefore found by descent (AdoptOrphans), not by group.
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

	"github.com/ringtap/ringtap/internal/cli/target"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/perfevent"
)

// StatusError is the exit status of a command that failed by itself. The run did its work, and
// the program exits with this status.
type StatusError int

func (e StatusError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// Open returns the target for package perfevent. If t has a command, Open starts it with Start
// and returns it, else the command is nil. The caller ends the command with End or Leave.
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

// Start starts a command, which shares the caller's standard streams. The command is held
// before its first instruction until the events are armed.
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

// AdoptOrphans makes this process the parent of orphans among its descendants
// (PR_SET_CHILD_SUBREAPER), so that they are found by descent. Call it only in a process all of
// whose children this package may end and reap.
func AdoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // every kernel since 3.4 knows it
}

// isSubreaper reports whether AdoptOrphans was called.
func isSubreaper() bool {
	var is int32
	err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&is)), 0, 0, 0)
	return err == nil && is != 0
}

// reapOrphans reaps every child except the command, which perfevent.Command.Wait reaps.
func reapOrphans(children <-chan os.Signal, command int) {
	for range children {
		for {
			var ended unix.Siginfo
			err := unix.Waitid(unix.P_ALL, 0, &ended, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
			pid := childOf(&ended)
			// waitid(2) also reports the stop of a held command. Its tracer must get that report.
			if err != nil || pid == 0 || pid == command || ended.Code == cldTrapped {
				break
			}
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
		}
	}
}

// cldTrapped is CLD_TRAPPED of the kernel's asm-generic/siginfo.h.
const cldTrapped = 4

// childOf returns the process that waitid(2) reports (si_pid), or 0 for none. The offset holds
// on 64-bit machines.
func childOf(info *unix.Siginfo) int {
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), 16)))
}

// started returns the processes that a command has started, each after its parent. These are the
// descendants of the command or, after AdoptOrphans, of this process. A process that created a
// session of its own is a daemon and is left out.
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

// Signal sends s to each process that a command has started, parents first, so that a shell does
// not go on to its next command. It does not send s to the command itself, which already got it.
// If command is 0, s goes to all descendants of this process, provided AdoptOrphans was called.
func Signal(s syscall.Signal, command int) {
	told := map[int]bool{command: true}
	for range signalRounds {
		before := len(told)
		for _, pid := range started(command) {
			if !told[pid] {
				told[pid] = true
				_ = unix.Kill(pid, s) // the process may have ended already
			}
		}
		if len(told) == before {
			return
		}
	}
}

// Leave ends a command that a failed run leaves behind. It kills a command that is still
// held. If the command runs, Leave ends it with SIGTERM, together with the processes that
// it started. It does nothing if command is nil.
func Leave(command *perfevent.Command) {
	if command == nil {
		return
	}
	command.Kill()
	if command.Stop() {
		Signal(unix.SIGTERM, command.PID())
		_, _ = command.Wait() // the caller already has an error to report
	}
}

// patience is how long a command may take to end before End prints that it waits.
const patience = time.Second

// Echo is the time within which a second signal is only a copy of the first. timeout(1)
// signals its command and then the command's group, and wrappers pass on what the terminal
// has sent to all processes.
const Echo = 250 * time.Millisecond

// End waits for the end of the command and returns a StatusError if it failed by
// itself. If the command still runs, because the run was shorter, End sends SIGTERM to it
// and to the processes that it started. If it ended by itself, End prints which processes
// it left running. End does nothing if command is nil.
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
		// The terminal sends the signal to the whole group. It may reach this process later.
		select {
		case <-ctx.Done():
		case <-time.After(Echo):
		}
		Signal(unix.SIGTERM, command.PID()) // background jobs of shells ignore SIGINT
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

// interrupted reports whether a command was ended by a signal that a person sends. A shell
// reports such an end of its last command as exit status 128 + signal.
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
