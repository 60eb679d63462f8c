package main

import (
	"encoding/gob"
	"fmt"
	"os"
	"os/exec"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/dev/vmrun/wire"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// guest is the process that does the guest's work: see first.
type guest struct {
	spec    wire.Spec
	mu      sync.Mutex // of control
	control *gob.Encoder
	replies *gob.Decoder
}

// boot prepares the system, does what the spec says and never returns.
func boot(spec wire.Spec) {
	g := &guest{spec: spec}
	if emulated := os.Getenv(testlimit.Variable); emulated != "" { // from the kernel's command line
		g.spec.Env = append(g.spec.Env, testlimit.Variable+"="+emulated)
	}
	code, err := g.run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
		if g.control != nil {
			g.send(wire.FromGuest{Kind: wire.Broken, Text: err.Error()})
		}
	} else {
		g.send(wire.FromGuest{Kind: wire.Exit, Code: code})
	}
	unix.Sync()
	unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
	select {}
}

func (g *guest) run() (int, error) {
	if err := prepare(g.spec); err != nil {
		return 0, err
	}
	port, err := openPort(wire.ControlPort)
	if err != nil {
		return 0, err
	}
	g.control, g.replies = gob.NewEncoder(port), gob.NewDecoder(port)
	g.send(wire.FromGuest{Kind: wire.Up})
	if len(g.spec.Tests) == 0 {
		return g.runCommand(g.spec.Command)
	}
	for i, t := range g.spec.Tests {
		if err := g.runTest(i, t); err != nil {
			return 0, fmt.Errorf("run the tests of %s: %w", t.Package, err)
		}
	}
	return 0, nil
}

func (g *guest) send(m wire.FromGuest) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.control.Encode(m); err != nil {
		fmt.Fprintln(os.Stderr, "guest: tell the host:", err)
	}
}

// output is a writer that sends what is written to the host, as messages of a kind.
type output struct {
	g    *guest
	kind wire.Kind
}

func (o output) Write(p []byte) (int, error) {
	o.g.send(wire.FromGuest{Kind: o.kind, Data: p})
	return len(p), nil
}

// exitCode returns the exit code that a shell reports for a command that ended in this state.
func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(interface{ Signal() unix.Signal }); ok && state.ExitCode() < 0 {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// command returns a command with the spec's environment. It is the leader of a session, so
// that it can be killed together with its children.
func (g *guest) command(dir string, args []string) *exec.Cmd {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = g.spec.Env
	cmd.SysProcAttr = &unix.SysProcAttr{Setsid: true}
	return cmd
}
