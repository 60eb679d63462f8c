package ftrace

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// groupChild makes of this test binary a process that owns a group.
const groupChild = "RINGTAP_TEST_GROUP_CHILD"

// ownGroup defines events, says the group's name, and ends when its input does.
func ownGroup(t *testing.T) {
	if os.Getpid() == 1 { // in a pid namespace
		if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
			t.Fatal(err)
		}
	}
	group, err := withUprobes(t).NewGroup("uprobe_events")
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range []string{"f", "g"} {
		if _, err := group.Define(Dynamic{Type: 'p', Event: event, Place: place, Args: here("a=%di")}); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Println(group.Name())
	bufio.NewReader(os.Stdin).ReadString('\n')
	if err := group.Close(); err != nil {
		t.Fatal(err)
	}
}

// child is a process that owns a group.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startChild(t *testing.T, flags uintptr) *child {
	t.Helper()
	c := &child{cmd: exec.Command(os.Args[0], "-test.run=^TestLiveManyOwnersAtOnceLeaveNothingBehind$")}
	c.cmd.Env = append(os.Environ(), groupChild+"=1")
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL}
	if flags&unix.CLONE_NEWNS != 0 {
		c.cmd.SysProcAttr.Unshareflags = unix.CLONE_NEWNS // makes its mounts private
	}
	c.cmd.Stderr = os.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.kill)
	c.in, c.out = in, bufio.NewReader(out)
	return c
}

// group waits for the group's name.
func (c *child) group(t *testing.T) string {
	t.Helper()
	line, err := c.out.ReadString('\n')
	if err != nil || !strings.HasPrefix(line, ownerPrefix) {
		t.Fatalf("the child says %q, %v; want its group's name", line, err)
	}
	return strings.TrimSpace(line)
}

func (c *child) kill() {
	c.cmd.Process.Kill()
	c.cmd.Wait()
}

func TestLiveAGroupInAContainerLivesAsLongAsItsOwner(t *testing.T) {
	tracefs := withUprobes(t)
	child := startChild(t, unix.CLONE_NEWPID|unix.CLONE_NEWNS)
	group := child.group(t)
	if !strings.HasPrefix(group, "ringtap_1_") {
		t.Fatalf("the group in the container is %s; want one of process 1", group)
	}
	own := func(g string) bool { return g == group }
	tracefs.RemoveStale(0) // it reports what others left too
	if left := definitions(t, tracefs, own); len(left) != 2 {
		t.Errorf("while the container runs, its group has %q; want two events", left)
	}
	child.kill()
	tracefs.RemoveStale(0)
	if left := definitions(t, tracefs, own); left != nil {
		t.Errorf("after kill -9 its group still has %q", left)
	}
}

func TestLiveManyOwnersAtOnceLeaveNothingBehind(t *testing.T) {
	if os.Getenv(groupChild) != "" {
		ownGroup(t)
		return
	}
	tracefs := withUprobes(t)
	bystander := fmt.Sprintf("bystander_%d", os.Getpid())
	byHand(t, tracefs, bystander, "f") // the same name as the children's
	mine := func(g string) bool { return g == bystander }
	before := definitions(t, tracefs, mine)

	var children []*child
	for range 20 {
		children = append(children, startChild(t, 0))
	}
	var pids []string
	for i, child := range children {
		pids = append(pids, fmt.Sprintf("ringtap_%d_", child.cmd.Process.Pid))
		switch i % 4 {
		case 0: // wherever it is
			child.kill()
		case 1:
			child.group(t)
			child.kill()
		default:
			child.in.Close()
		}
	}
	for i, child := range children {
		if err := child.cmd.Wait(); i%4 > 1 && err != nil {
			t.Errorf("child %d: %v", i, err)
		}
	}
	if err := newGroup(t, tracefs, "uprobe_events").Close(); err != nil { // the next run
		t.Fatal(err)
	}
	if left := definitions(t, tracefs, func(g string) bool {
		return slices.ContainsFunc(pids, func(pid string) bool { return strings.HasPrefix(g, pid) })
	}); left != nil {
		t.Errorf("uprobe_events still has %q", left)
	}
	if after := definitions(t, tracefs, mine); !slices.Equal(after, before) {
		t.Errorf("another program's event was %q and is %q", before, after)
	}
}
