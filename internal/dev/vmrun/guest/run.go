package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/dev/vmrun/wire"
)

// runTest runs test binary i of the spec as go test does. If it fails, that is a message to the
// host, not an error.
func (g *guest) runTest(i int, t wire.Test) error {
	args := append([]string{t.Path, "-test.v=test2json", "-test.paniconexit0",
		fmt.Sprintf("-test.timeout=%ds", t.Seconds)}, t.Args...)
	cmd := g.command(t.Dir, args)
	out := output{g, wire.Output}
	cmd.Stdout, cmd.Stderr = out, out
	cmd.WaitDelay = 5 * time.Second // for processes that it left running
	if err := cmd.Start(); err != nil {
		return err
	}
	// The binary ends itself after its time and prints where it was. If it can't, it is
	// killed together with its children.
	killer := time.AfterFunc(time.Duration(t.Seconds+10)*time.Second, func() { unix.Kill(-cmd.Process.Pid, unix.SIGKILL) })
	// If that does not end it either, it waits in the kernel, and no other test can run.
	stuck := time.AfterFunc(time.Duration(t.Seconds+30)*time.Second, func() {
		g.send(wire.FromGuest{Kind: wire.Broken, Text: t.Package + " can't be killed; it waits in the kernel:\n" + kernelStacks(cmd.Process.Pid)})
	})
	err := cmd.Wait()
	stuck.Stop()
	killer.Stop()
	unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	ended := wire.FromGuest{Kind: wire.Ended, Test: i}
	if err != nil {
		ended.Text = err.Error()
	}
	g.send(ended)
	return nil
}

// kernelStacks returns the kernel stacks of a process's threads, as text.
func kernelStacks(pid int) string {
	var text strings.Builder
	stacks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stack", pid))
	for _, stack := range stacks {
		lines, err := os.ReadFile(stack)
		fmt.Fprintf(&text, "%s: %v\n%s", stack, err, lines)
	}
	return text.String()
}

// runCommand runs the command to its end and returns its exit code.
func (g *guest) runCommand(c wire.Command) (int, error) {
	cmd := g.command(c.Dir, c.Args)
	if !c.Terminal {
		input, err := cmd.StdinPipe()
		if err != nil {
			return 0, err
		}
		cmd.Stdout, cmd.Stderr = output{g, wire.Output}, output{g, wire.Error}
		go g.receive(func(m wire.ToGuest) {
			if m.End {
				input.Close()
			} else {
				input.Write(m.Input)
			}
		})
		return end(cmd)
	}
	console, err := os.OpenFile(consoleDevice(), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return 0, err
	}
	defer console.Close()
	resize := func(rows, cols uint16) {
		if rows > 0 {
			unix.IoctlSetWinsize(int(console.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
		}
	}
	resize(c.Rows, c.Cols)
	go g.receive(func(m wire.ToGuest) { resize(m.Rows, m.Cols) })
	cmd.Stdin, cmd.Stdout, cmd.Stderr = console, console, console
	cmd.SysProcAttr.Setctty = true
	defer unix.IoctlSetInt(int(console.Fd()), unix.TCSBRK, 1) // drain its output before the guest ends
	return end(cmd)
}

// end runs the command and returns its exit code as a shell reports it.
func end(cmd *exec.Cmd) (int, error) {
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(cmd.Stderr, err)
		return 127, nil
	}
	if err := cmd.Wait(); cmd.ProcessState == nil {
		return 0, err
	}
	return exitCode(cmd.ProcessState), nil
}

// receive calls handle with each message from the host, until there are no more.
func (g *guest) receive(handle func(wire.ToGuest)) {
	for {
		var m wire.ToGuest
		if err := g.replies.Decode(&m); err != nil {
			return
		}
		handle(m)
	}
}

// consoleDevice returns the path of the terminal that the kernel's console uses.
func consoleDevice() string {
	text, err := os.ReadFile("/sys/class/tty/console/active")
	names := strings.Fields(string(text))
	if err != nil || len(names) == 0 {
		return "/dev/console"
	}
	return "/dev/" + names[len(names)-1]
}
