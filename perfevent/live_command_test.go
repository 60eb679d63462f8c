package perfevent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

func TestLiveCommandIsSeenFromItsFirstInstruction(t *testing.T) {
	cmd := exec.Command("sh", "-c", "ls / >/dev/null; exit 3")
	c, err := StartCommand(cmd)
	if err != nil {
		t.Fatal(err)
	}
	samplings := pageFaults()
	samplings[0].ExcludeKernel = true
	s := open(t, Started(c), samplings, Options{})
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.PID())); err != nil || !strings.Contains(string(stat), ") t ") {
		t.Errorf("the command is not held: %q, %v", stat, err)
	}
	enable(t, s)
	all := read(t, s, context.Background())
	state, err := c.Wait()
	if err != nil || state.ExitCode() != 3 {
		t.Errorf("the command ended with %v, %v; want exit status 3", state, err)
	}
	checkBooks(t, s)
	// The dynamic linker runs first of all, before the program maps libc.
	if !slices.ContainsFunc(all.mmaps, func(path string) bool { return strings.Contains(path, "libc") }) {
		t.Errorf("libc's mapping was not recorded: %v", all.mmaps)
	}
	if !slices.Contains(all.comms, "ls") || !all.exec {
		t.Errorf("the child's exec was not recorded: names %q", all.comms)
	}
	if !all.exits[uint32(c.PID())] {
		t.Error("the command's end was not recorded")
	}
}

func TestLiveCommandThatCannotRunSaysWhy(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, []byte("no program"), 0o644); err != nil {
		t.Fatal(err)
	}
	garbage := filepath.Join(dir, "garbage")
	if err := os.WriteFile(garbage, []byte("no program"), 0o755); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		path string
		want error
	}{
		{"no-such-command-anywhere", exec.ErrNotFound},
		{filepath.Join(dir, "absent"), fs.ErrNotExist},
		{plain, fs.ErrPermission},
		{garbage, syscall.ENOEXEC},
	}
	for _, tt := range tests {
		if _, err := StartCommand(exec.Command(tt.path)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", filepath.Base(tt.path), err, tt.want)
		}
	}
}

func TestLiveCommandThatIsNeverLetRunIsKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ran")
	c, err := StartCommand(exec.Command("touch", file))
	if err != nil {
		t.Fatal(err)
	}
	samplings := pageFaults()
	samplings[0].ExcludeKernel = true
	s, err := Open(Started(c), samplings, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(c.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the command is still there: %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the command ran: %v", err)
	}
}

func TestLiveCommandsSignalReachesTheCaller(t *testing.T) {
	c, err := StartCommand(exec.Command("sh", "-c", "kill -TERM $$"))
	if err != nil {
		t.Fatal(err)
	}
	samplings := pageFaults()
	samplings[0].ExcludeKernel = true
	s := open(t, Started(c), samplings, Options{})
	enable(t, s)
	read(t, s, context.Background())
	state, err := c.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if status := state.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGTERM {
		t.Errorf("the command ended with %v, want SIGTERM", state)
	}
}

// A command that goes into the background does not keep Read. It stays until its
// input ends, which is when the test has seen that.
func TestLiveReadEndsWithTheCommandNotWithItsChildren(t *testing.T) {
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command("sh", "-c", "cat <&3 >/dev/null 2>&1 & exit 0")
	cmd.ExtraFiles = []*os.File{in}
	c, err := StartCommand(cmd)
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	samplings := pageFaults()
	samplings[0].ExcludeKernel = true
	s := open(t, Started(c), samplings, Options{})
	enable(t, s)
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.Patience(time.Minute))
	defer cancel()
	read(t, s, ctx)
	if ctx.Err() != nil {
		t.Error("Read waited for the command's child")
	}
	if _, err := c.Wait(); err != nil {
		t.Error(err)
	}
}

func TestLiveCommandCanBeStopped(t *testing.T) {
	c, err := StartCommand(exec.Command("sleep", "60"))
	if err != nil {
		t.Fatal(err)
	}
	samplings := pageFaults()
	samplings[0].ExcludeKernel = true
	s := open(t, Started(c), samplings, Options{})
	enable(t, s)
	if !c.Stop() {
		t.Error("a running command needed no stop")
	}
	read(t, s, context.Background())
	if c.Stop() {
		t.Error("a command that has ended needed a stop")
	}
	if state, err := c.Wait(); err != nil || state.Success() {
		t.Errorf("the command ended with %v, %v", state, err)
	}
}

// The events of a failed Open are gone, the command is not.
func TestLiveCommandOutlivesAFailedOpen(t *testing.T) {
	c, err := StartCommand(exec.Command("true"))
	if err != nil {
		t.Fatal(err)
	}
	bad := []Sampling{{Event: Tracepoint(1<<31, "no:such"), Period: 1, ExcludeKernel: true}}
	if s, err := Open(Started(c), bad, Options{}); err == nil {
		s.Close()
		t.Fatal("a tracepoint that does not exist was opened")
	}
	samplings := pageFaults()
	samplings[0].ExcludeKernel = true
	s := open(t, Started(c), samplings, Options{})
	enable(t, s)
	read(t, s, context.Background())
	if state, err := c.Wait(); err != nil || !state.Success() {
		t.Errorf("the command ended with %v, %v", state, err)
	}
}
