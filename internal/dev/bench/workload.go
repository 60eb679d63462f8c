package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/truth"
)

// workload keeps the machine busy while a tool records: Go code with system calls in
// two threads, and programs with known stacks.
type workload struct {
	commands func() []*exec.Cmd
}

// newWorkload builds the Go workload and the named programs of package truth.
func (b *bench) newWorkload(ctx context.Context, programs ...string) (workload, error) {
	mixed := filepath.Join(b.dir, "workload")
	if _, err := run(ctx, nil, "go", "build", "-o", mixed, "./internal/dev/workload"); err != nil {
		return workload{}, err
	}
	var built []truth.Built
	for _, name := range programs {
		p, err := truth.Named(name).Compile(b.dir)
		if err != nil {
			return workload{}, fmt.Errorf("workload: %w", err)
		}
		built = append(built, p)
	}
	// This is longer than any recording takes, with its start and stop. during ends the commands earlier.
	length := b.seconds + 10
	return workload{commands: func() []*exec.Cmd {
		commands := []*exec.Cmd{exec.Command(mixed, strconv.Itoa(length)+"s")}
		for _, p := range built {
			commands = append(commands, p.Command(2*float64(length)))
		}
		return commands
	}}, nil
}

// during runs f while the workload, if any, runs.
func (w workload) during(f func() error) error {
	if w.commands == nil {
		return f()
	}
	for _, cmd := range w.commands() {
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL}
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("start the workload: %w", err)
		}
		defer func() {
			cmd.Process.Kill()
			cmd.Wait()
		}()
	}
	time.Sleep(200 * time.Millisecond) // past its start
	return f()
}
