package main

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// partner is a program that does what it is told on its standard input, and answers.
type partner struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startPartner starts a program. The caller ends it by stop.
func startPartner(ctx context.Context, program string, args ...string) (*partner, error) {
	p := &partner{cmd: exec.CommandContext(ctx, program, args...)}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	return p, p.cmd.Start()
}

// stop ends the program.
func (p *partner) stop() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}
