package livetest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// Ready is a program that has printed "ready". It starts its work when Begin writes a line to it, may
// print more, and ends when its input ends.
type Ready struct {
	PID  int
	Said *bufio.Reader // what it prints after "ready"
	cmd  *exec.Cmd
	in   io.WriteCloser
}

// Start starts a program and waits until it is ready. The caller must close it.
func Start(t *testing.T, cmd *exec.Cmd) *Ready {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testlimit.Limit(t, cmd)
	r := &Ready{cmd.Process.Pid, bufio.NewReader(out), cmd, in}
	if line, err := r.Said.ReadString('\n'); err != nil || line != "ready\n" {
		r.Close()
		t.Fatalf("%s says %q, %v", cmd, line, err)
	}
	return r
}

// Begin tells the program to start its work.
func (r *Ready) Begin() error {
	_, err := io.WriteString(r.in, "\n")
	return err
}

// BeginUntil tells the program to start its work, and waits for the next line that it prints. If
// that is not said, it returns an error.
func (r *Ready) BeginUntil(said string) error {
	if err := r.Begin(); err != nil {
		return err
	}
	if line, err := r.Said.ReadString('\n'); line != said+"\n" {
		return errors.Join(err, fmt.Errorf("%s says %q, want %q", r.cmd, line, said))
	}
	return nil
}

// Close ends the program's input, and waits until the program ends.
func (r *Ready) Close() {
	r.in.Close()
	_ = r.cmd.Wait() // its exit status does not matter
}
