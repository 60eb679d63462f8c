package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/internal/testkit/truth"
)

// boxes are what containers are made of: a root directory with a program that knows
// what it does (testdata/container/box.c) and copies of the libraries that it loads,
// and control groups with names as container runtimes give them.
type boxes struct {
	root, program string // the program as the host sees it
	id            string // of the container that is watched
	watched       string // its control group
	others        string // one beside it
}

// newBoxes makes a root directory and two control groups. They are removed when the
// test ends.
func newBoxes(t *testing.T) *boxes {
	t.Helper()
	b := &boxes{root: t.TempDir(), id: fmt.Sprintf("%08x", os.Getpid()) + strings.Repeat("5eed", 14)}
	b.program = filepath.Join(b.root, "bin/box")
	if err := os.MkdirAll(filepath.Dir(b.program), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-O1", "-pthread", "-o", b.program, "testdata/container/box.c").CombinedOutput(); err != nil {
		t.Skipf("gcc: %v\n%s", err, out)
	}
	libraries, err := exec.Command("ldd", b.program).Output()
	if err != nil {
		t.Skipf("ldd: %v", err)
	}
	for _, word := range strings.Fields(string(libraries)) {
		if filepath.IsAbs(word) {
			copyInto(t, word, b.root+word)
		}
	}
	slice := filepath.Join(truth.Cgroup2(t), "ringtap-test-"+strconv.Itoa(os.Getpid())+".slice")
	b.watched, b.others = filepath.Join(slice, "docker-"+b.id+".scope"), filepath.Join(slice, "others.scope")
	for _, dir := range []string{slice, b.watched, b.others} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Skipf("no control group can be made: %v", err)
		}
		t.Cleanup(func() {
			if err := removeGroup(dir); err != nil {
				t.Error(err)
			}
		})
	}
	return b
}

// removeGroup removes a control group whose last process has just ended.
func removeGroup(dir string) (err error) {
	for end := time.Now().Add(testlimit.End); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if err = os.Remove(dir); err == nil {
			return nil
		}
	}
	return err
}

func copyInto(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// box is the first process of a container.
type box struct {
	*exec.Cmd
	t     *testing.T
	in    io.Writer
	lines *bufio.Reader
}

// start starts a container in a control group, with namespaces of its own, that of
// users among them.
func (b *boxes) start(t *testing.T, group string) *box {
	t.Helper()
	dir, err := os.Open(group)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	root := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}}
	cmd := exec.Command(b.program, "enter", b.root)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWUSER | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		UidMappings: root, GidMappings: root,
		UseCgroupFD: true, CgroupFD: int(dir.Fd()),
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errors strings.Builder
	cmd.Stderr = &errors
	if err := cmd.Start(); err != nil {
		t.Skipf("no container can be made: %v", err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	late := time.AfterFunc(testlimit.End, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	c := &box{cmd, t, in, bufio.NewReader(out)}
	if line, err := c.lines.ReadString('\n'); line != "ready\n" {
		_ = cmd.Wait()
		t.Skipf("no container can be made: %v\n%s", err, errors.String())
	}
	awaitSleep(t, cmd.Process.Pid) // until it waits to be told more
	return c
}

// awaitSleep waits until a process waits for something.
func awaitSleep(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(testlimit.End); ; time.Sleep(5 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || time.Now().After(end) {
			t.Fatalf("it does not wait: %s, %v", stat, err)
		}
		if strings.Contains(string(stat), ") S ") {
			return
		}
	}
}

// rounds has the program do so many rounds.
func (c *box) rounds(n int) {
	c.t.Helper()
	late := time.AfterFunc(testlimit.End, func() { _ = c.Process.Kill() })
	defer late.Stop()
	for range n {
		if _, err := c.in.Write([]byte{1}); err != nil {
			c.t.Fatal(err)
		}
		if line, err := c.lines.ReadString('\n'); line != "done\n" {
			c.t.Fatalf("the program in the container says %q, %v", line, err)
		}
	}
}

// move moves the program to another control group.
func (c *box) move(group string) {
	c.t.Helper()
	if err := os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(c.Process.Pid)), 0); err != nil {
		c.t.Fatal(err)
	}
}
