package livetest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"testing"

	"github.com/ringtap/ringtap/internal/testlimit"
)

// Ready is a program that has printed "ready". It begins when it is told to, may say more, and ends
// when its input does.
type Ready struct {
	PID  int
	Said *bufio.Reader // what it prints after that
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

// Begin tells the program to begin.
func (r *Ready) Begin() error {
	_, err := io.WriteString(r.in, "\n")
	return err
}

// BeginUntil tells the program to begin, and returns when it has said a line. It is an error if
// it says another one.
func (r *Ready) BeginUntil(said string) error {
	if err := r.Begin(); err != nil {
		return err
	}
	if line, err := r.Said.ReadString('\n'); line != said+"\n" {
		return errors.Join(err, fmt.Errorf("%s says %q, want %q", r.cmd, line, said))
	}
	return nil
}

// Close ends the program's input, and waits for its end.
func (r *Ready) Close() {
	r.in.Close()
	_ = r.cmd.Wait() // how it ends is no concern of the tests
}
