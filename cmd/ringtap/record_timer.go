package main

import (
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// timer is a command that says how long a recording takes, as in perf record -a sleep 5. The zero timer
// has no command.
type timer struct {
	args  []string
	cmd   *exec.Cmd
	ended chan struct{}
}

// check returns an error if there is no such command.
func (t *timer) check() error {
	if len(t.args) == 0 {
		return nil
	}
	if _, err := exec.LookPath(t.args[0]); err != nil {
		return fmt.Errorf("run %s: %w", t.args[0], err)
	}
	return nil
}

// start starts the command. It calls end when the command has ended.
func (t *timer) start(end func()) error {
	if len(t.args) == 0 {
		return nil
	}
	cmd := exec.Command(t.args[0], t.args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	t.cmd, t.ended = cmd, make(chan struct{})
	go func() {
		defer close(t.ended)
		_ = cmd.Wait() // how it ended does not matter to what was recorded
		end()
	}()
	return nil
}

// stop ends the command if it still runs, and waits for it.
func (t *timer) stop() {
	if t.cmd == nil {
		return
	}
	_ = t.cmd.Process.Signal(unix.SIGTERM) // it may have ended
	<-t.ended
}
