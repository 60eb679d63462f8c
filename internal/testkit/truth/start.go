package truth

import (
	"io"
	"os/exec"
	"testing"
)

// Start starts a program and returns pipes to its standard input and from its standard output.
// The caller ends the program.
func Start(t testing.TB, cmd *exec.Cmd) (in io.WriteCloser, out io.ReadCloser) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return in, out
}
