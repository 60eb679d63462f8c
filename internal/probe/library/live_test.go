package library

import (
	"bufio"
	"errors"
	"fmt"
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
)

// waiting says that it runs, and calls hit for every line it reads.
const waiting = `
#include <stdio.h>
__attribute__((noinline)) void hit(int n) { __asm__ volatile("nop" : : "r"(n)); }
int main(void)
{
	char line[100];
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		hit(1);
		puts("ok");
		fflush(stdout);
	}
	return 0;
}
`

// waitingProgram makes a root directory with the program /bin/prog and all that
// it loads, at the paths where they are here, and returns the program's path in it.
func waitingProgram(t *testing.T, root string, flags ...string) string {
	t.Helper()
	link(t, filepath.Join(root, "bin/prog"), waiting, flags...)
	plain := filepath.Join(t.TempDir(), "plain")
	link(t, plain, waiting)
	out, err := exec.Command("ldd", plain).Output()
	if err != nil {
		t.Skipf("ldd: %v", err)
	}
	for _, word := range strings.Fields(string(out)) {
		if filepath.IsAbs(word) {
			copyFile(t, word, filepath.Join(root, word))
		}
	}
	return "/bin/prog"
}

// process is a waiting program that runs.
type process struct {
	*exec.Cmd
	t     *testing.T
	lines *bufio.Reader
	in    *os.File
}

// start runs a waiting program until the test ends.
func start(t *testing.T, c *exec.Cmd) *process {
	t.Helper()
	r, w, err := os.Pipe()
	must(t, err)
	c.Stdin = r
	out, err := c.StdoutPipe()
	must(t, err)
	if err := c.Start(); err != nil {
		t.Skipf("%s: %v", c, err)
	}
	r.Close()
	t.Cleanup(func() {
		w.Close()
		c.Wait()
	})
	p := &process{c, t, bufio.NewReader(out), w}
	p.expect("ready\n")
	return p
}

func (p *process) expect(line string) {
	p.t.Helper()
	late := time.AfterFunc(testlimit.End, func() { _ = p.Process.Kill() })
	defer late.Stop()
	if got, err := p.lines.ReadString('\n'); got != line {
		p.t.Fatalf("the program says %q, %v; want %q", got, err, line)
	}
}

// hit lets the program call its function once.
func (p *process) hit() {
	p.t.Helper()
	_, err := p.in.WriteString("\n")
	must(p.t, err)
	p.expect("ok\n")
}

// startIn runs a program in another root directory and mount namespace.
func startIn(t *testing.T, root, program string) (pid int) {
	t.Helper()
	c := exec.Command(program)
	c.Dir = "/"
	c.SysProcAttr = inRoot(root)
	return start(t, c).Process.Pid
}

func inRoot(root string) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Chroot: root, Cloneflags: syscall.CLONE_NEWNS}
}

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

func TestLiveNamesAreThoseOfTheFilesThatAProcessHasMapped(t *testing.T) {
	dir := t.TempDir()
	link(t, filepath.Join(dir, "prog.v2"), waiting)
	p := start(t, exec.Command(filepath.Join(dir, "prog.v2")))
	for _, name := range []string{"prog.v2", "prog"} {
		target, err := Find(name, Options{PID: p.Process.Pid})
		checkTarget(t, name, target, err, filepath.Join(dir, "prog.v2"))
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.Process.Pid))
	must(t, err)
	for line := range strings.Lines(string(maps)) {
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[5][0] != '/' || fields[1] != "r-xp" {
			continue
		}
		base := filepath.Base(fields[5])
		stem, _, _ := strings.Cut(base, ".")
		for _, name := range []string{base, stem} {
			target, err := Find(name, Options{PID: p.Process.Pid})
			checkTarget(t, name, target, err, fields[5])
			if err == nil && strings.HasPrefix(target.KernelPath, "/proc/") {
				t.Errorf("%s: the kernel's path is %s", name, target.KernelPath)
			}
		}
	}
	// What it has not mapped is found as for everybody.
	target, err := Find("bash", Options{PID: p.Process.Pid})
	if err != nil {
		t.Errorf("bash: %v", err)
	} else {
		target.File.Close()
	}
}

func TestLiveAProcessSeesTheFilesOfItsContainer(t *testing.T) {
	needRoot(t)
	root := t.TempDir()
	program := waitingProgram(t, root)
	writeFile(t, filepath.Join(root, "secret"), "container", 0o644)
	must(t, os.Symlink("/secret", filepath.Join(root, "absolute")))
	must(t, os.Symlink("../../../../../../../../../etc/hostname", filepath.Join(root, "outside")))
	pid := startIn(t, root, program)
	libc := mappedPath(t, pid, "libc.so.6")
	ofHost, err := Find("libc", Options{})
	must(t, err)
	defer ofHost.File.Close()
	within, err := os.Readlink(libc)
	must(t, err)
	within = strings.TrimPrefix(within, root)

	for _, name := range []string{"libc", "libc.so.6", within, fmt.Sprintf("/proc/%d/root%s", pid, within)} {
		target, err := Find(name, Options{PID: pid})
		checkTarget(t, name, target, err, filepath.Join(root, within))
		if err == nil && !strings.HasPrefix(target.Path, fmt.Sprintf("/proc/%d/root/", pid)) {
			t.Errorf("%s: shown as %s", name, target.Path)
		}
	}
	target, err := Find(fmt.Sprintf("/proc/%d/root%s", pid, within), Options{})
	checkTarget(t, "by /proc, without a PID", target, err, filepath.Join(root, within))
	target, err = Find("prog", Options{PID: pid})
	checkTarget(t, "prog", target, err, filepath.Join(root, program))
	target, err = Find("/absolute", Options{PID: pid})
	checkTarget(t, "/absolute", target, err, filepath.Join(root, "secret"))
	if target, err := Find("/outside", Options{PID: pid}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a link out of the container: %+v, %v", target, err)
	}
	if sameInode(t, libc, ofHost.Path) {
		t.Error("the container's libc is the host's: nothing was tested")
	}
}

func sameInode(t *testing.T, a, b string) bool {
	t.Helper()
	var one, other unix.Stat_t
	must(t, unix.Stat(a, &one))
	must(t, unix.Stat(b, &other))
	return sameFile(&one, &other)
}

func TestLiveADeletedOrReplacedFileIsTheOneThatRuns(t *testing.T) {
	needRoot(t)
	for _, how := range []string{"deleted", "replaced"} {
		path := filepath.Join(t.TempDir(), "prog")
		link(t, path, waiting)
		p := start(t, exec.Command(path))
		must(t, os.Remove(path))
		if how == "replaced" {
			link(t, path, waiting, "-O2")
		}
		target, err := Find("prog", Options{PID: p.Process.Pid})
		checkTarget(t, how, target, err, fmt.Sprintf("/proc/%d/exe", p.Process.Pid))
		if err == nil && target.Path != path {
			t.Errorf("%s: shown as %q", how, target.Path)
		}
	}
}

func TestLiveAProcessThatIsGoneIsNamed(t *testing.T) {
	c := exec.Command("/bin/true")
	must(t, c.Run())
	_, err := Find("libc", Options{PID: c.Process.Pid})
	var gone *ProcessError
	if !errors.As(err, &gone) || gone.Error() != "there is no process "+strconv.Itoa(c.Process.Pid) {
		t.Errorf("%v", err)
	}
}
