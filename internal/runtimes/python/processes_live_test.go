package python

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// tell starts a program of testdata and reads the chain that its one thread tells.
func tell(t *testing.T, cmd *exec.Cmd) (pid int, chain []interp.Frame) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr, cmd.Env = os.Stderr, append(os.Environ(), "LC_ALL=C.UTF-8") // for the names of files
	testlimit.Limit(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	told, err := parseTruth(line)
	if err != nil {
		t.Fatal(err)
	}
	for pid, chain = range told {
	}
	t.Cleanup(func() {
		if child, err := os.FindProcess(pid); err == nil {
			child.Kill()
		}
		cmd.Process.Kill()
		cmd.Wait()
	})
	return pid, chain
}

// A child of fork(2) has the structures of its parent, but another thread id.
func TestLiveAForkedProcessHasItsOwnChain(t *testing.T) {
	for _, path := range pythons(t) {
		t.Run(path, func(t *testing.T) {
			pid, want := tell(t, exec.Command(path, "testdata/processes.py", "fork"))
			r := attach(t, pid)
			awaitRead(t, pid)
			if got, _ := walked(r, pid, maxDepth); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", lines(got), lines(want))
			}
		})
	}
}

// reads reports whether a process is in read(2).
func reads(t *testing.T, pid int) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/syscall")
	if err != nil {
		t.Fatal(err)
	}
	return strings.HasPrefix(string(text), "0 ")
}

// awaitRead waits until a process is in read(2).
func awaitRead(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(testlimit.End); !reads(t, pid); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d does not come to read(2)", pid)
		}
	}
}

// A thread that runs a subinterpreter's code has the calls of both interpreters, the
// subinterpreter's first.
func TestLiveAThreadHasTheCallsOfAllItsInterpreters(t *testing.T) {
	for _, path := range pythons(t) {
		if strings.Contains(path, "/3.6.") || strings.Contains(path, "/3.7.") {
			continue // Python has a module for subinterpreters from 3.8 on
		}
		t.Run(path, func(t *testing.T) {
			pid, want := tell(t, exec.Command(path, "testdata/processes.py", "sub"))
			r := attach(t, pid)
			awaitRead(t, pid)
			got, _ := walked(r, pid, maxDepth)
			for i := range got {
				if i >= 2 {
					got[i].Line = 0
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", lines(got), lines(want))
			}
		})
	}
}
