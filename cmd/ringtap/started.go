package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/ringtap/ringtap/perfevent"
)

// start starts the command that a run is about. It is held before its first
// instruction until the events are armed; its output is ours.
func start(args []string) (*perfevent.Command, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	command, err := perfevent.StartCommand(cmd)
	if err != nil {
		return nil, fmt.Errorf("run %s: %w", args[0], err)
	}
	return command, nil
}

// leave sees to it that the command does not stay behind, whatever has failed:
// neither held, if the run never came to let it go, nor running.
func leave(command *perfevent.Command) {
	if command == nil {
		return
	}
	command.Kill()
	if command.Stop() {
		_, _ = command.Wait() // there is another error to tell
	}
}

// ended waits for the end of the command that was run, if there is one, and
// returns a statusError if it failed by itself. One that still runs, because the
// run was shorter, is told to end.
func ended(command *perfevent.Command) error {
	if command == nil {
		return nil
	}
	stopped := command.Stop()
	state, err := command.Wait()
	if err != nil {
		return err
	}
	status := state.Sys().(syscall.WaitStatus)
	switch {
	case stopped:
		return nil
	case status.Signaled():
		return statusError(128 + int(status.Signal()))
	case status.ExitStatus() != 0:
		return statusError(status.ExitStatus())
	}
	return nil
}
