package main

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

//go:embed testdata/hits.c
var hitsSource []byte

// program is the workload: a shell script whose last command answers each line on its standard
// input with a line, and ends when its input ends. The first line that it prints has words such
// as pid=12, which set variables of command lines, or is "missing: WHY".
type program struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	first string
}

// startProgram starts a workload and writes the source of hits to dir for it. The workload may
// clean up when it ends. The caller ends it with stop.
func startProgram(dir, script string) (*program, error) {
	if err := os.WriteFile(filepath.Join(dir, "hits.c"), hitsSource, 0o600); err != nil {
		return nil, err
	}
	p := &program{cmd: exec.Command("sh", "-c", script)}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	out, err2 := p.cmd.StdoutPipe()
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	p.in, p.out = in, bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	if p.first, err = p.answer(); err != nil {
		return nil, errors.Join(err, p.stop())
	}
	return p, nil
}

// stop ends the program's input and waits for its end. After a minute it kills the program.
func (p *program) stop() error {
	_ = p.in.Close()
	late := time.AfterFunc(time.Minute, func() { _ = unix.Kill(-p.cmd.Process.Pid, unix.SIGKILL) })
	defer late.Stop()
	return p.cmd.Wait()
}

// say sends a command, which is a line.
func (p *program) say(command string) error {
	if _, err := io.WriteString(p.in, command+"\n"); err != nil {
		return fmt.Errorf("tell the workload what to do: %w", err)
	}
	return nil
}

func (p *program) answer() (string, error) {
	line, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read what the workload says: %w", err)
	}
	return strings.TrimSuffix(line, "\n"), nil
}

// askNumber sends a command and returns the answer.
func (p *program) askNumber(command string) (int64, error) {
	if err := p.say(command); err != nil {
		return 0, err
	}
	return p.number()
}

func (p *program) number() (int64, error) {
	text, err := p.answer()
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// run calls malloc and free n times and returns the nanoseconds of one round of
// both.
func (p *program) run(n int) (float64, error) {
	took, err := p.askNumber(fmt.Sprintf("run %d", n))
	return float64(took) / float64(n), err
}

// read reads n bytes, one at a time, and returns the nanoseconds per byte: the thread's
// CPU time, and the elapsed time. With one CPU the difference is what other threads did
// in the meantime: the tool's.
func (p *program) read(n int) (cpu, elapsed float64, err error) {
	before := time.Now()
	took, err := p.askNumber(fmt.Sprintf("read %d", n))
	return float64(took) / float64(n), float64(time.Since(before)) / float64(n), err
}

// await waits until there is a probe on one of the functions or, if probed is false, on none.
func (p *program) await(ctx context.Context, probed bool) error {
	late := "a probe, perhaps somebody else's, has been on malloc, free or a64l for a minute"
	if probed {
		late = "no probe has come within a minute"
	}
	return poll(ctx, time.Minute, 5*time.Millisecond, func() (bool, error) {
		state, err := p.askNumber("probed")
		return (state == 1) == probed, err
	}, late)
}

// poll calls f every so often until it is done. If limit passes before, it returns an error with the
// text late.
func poll(ctx context.Context, limit, every time.Duration, f func() (done bool, err error), late string) error {
	for end := time.Now().Add(limit); time.Now().Before(end); {
		if done, err := f(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
	}
	return errors.New(late)
}

// ticks waits for the end of the command "tick" and returns the number of its calls. If the tool
// ends, ticks ends the command early.
func (p *program) ticks(tool *background) (uint64, error) {
	defer context.AfterFunc(tool.done, func() { _ = p.say("") })()
	n, err := p.number()
	return uint64(n), err
}

// at returns the time of a call of the last "tick", on the clock of monotonic.
func (p *program) at(call uint64) (time.Duration, error) {
	n, err := p.askNumber(fmt.Sprintf("at %d", call))
	return time.Duration(n), err
}

// monotonic returns the time of CLOCK_MONOTONIC, which is the same in all processes.
func monotonic() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0 // clock_gettime(2) cannot fail for this clock
	}
	return time.Duration(now.Nano())
}
