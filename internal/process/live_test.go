package process

import (
	"bufio"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/host/openfile"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root: /proc/PID/map_files and mount namespaces are root's")
	}
}

// compile builds a C program or, with -shared, a library.
func compile(t *testing.T, dir, name, source string, flags ...string) string {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc: the programs to look at are built here")
	}
	code := filepath.Join(dir, name+".c")
	must(t, os.WriteFile(code, []byte(source), 0o644))
	out := filepath.Join(dir, name)
	args := append([]string{"-O1", "-o", out, code}, flags...)
	if text, err := exec.Command(gcc, args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, text)
	}
	return out
}

// child is a running program that has said its first line.
type child struct {
	*exec.Cmd
	first  string
	input  io.WriteCloser
	output *bufio.Reader
}

// start runs a command until it says a line; it ends when its input does.
func start(t *testing.T, command *exec.Cmd) *child {
	t.Helper()
	input, err := command.StdinPipe()
	must(t, err)
	output, err := command.StdoutPipe()
	must(t, err)
	command.Stderr = os.Stderr
	must(t, command.Start())
	c := &child{Cmd: command, input: input, output: bufio.NewReader(output)}
	t.Cleanup(c.stop)
	late := time.AfterFunc(testlimit.End, func() { _ = c.Process.Kill() })
	defer late.Stop()
	line, err := c.output.ReadString('\n')
	if err != nil {
		t.Fatalf("%s said nothing: %v", command, err)
	}
	c.first = strings.TrimSpace(line)
	return c
}

// stop ends the child and waits for it.
func (c *child) stop() {
	c.input.Close()
	late := time.AfterFunc(testlimit.End, func() { _ = c.Process.Kill() })
	defer late.Stop()
	// The exit status of a program that was told to end does not matter.
	_ = c.Wait()
}

// address is the number that the child's first line is.
func (c *child) address(t *testing.T) (pc uint64) {
	t.Helper()
	if _, err := fmt.Sscanf(c.first, "%v", &pc); err != nil {
		t.Fatalf("%q is no address: %v", c.first, err)
	}
	return pc
}

// waiting is a program that says where its main is and waits.
const waiting = `#include <stdio.h>
int main(void) { printf("%p\n", (void *)main); fflush(stdout); return getchar() == 'x'; }`

func contents(t *testing.T, o *Object) []byte {
	t.Helper()
	r, size, err := o.Open()
	if err != nil {
		t.Fatal(err)
	}
	image := make([]byte, size)
	if _, err := r.ReadAt(image, 0); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return image
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	image, err := os.ReadFile(name)
	must(t, err)
	return image
}

func TestLiveALibraryThatWasLoadedAndDeletedStaysReadable(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	library := compile(t, dir, "libx.so", `int x(void) { return 42; }`, "-shared", "-fPIC")
	program := compile(t, dir, "loader", `
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
	printf("%p\n", dlsym(dlopen(argv[1], RTLD_NOW), "x")); fflush(stdout);
	return getchar() == 'x';
}`, "-ldl")
	want := readFile(t, library)
	c := start(t, exec.Command(program, library))
	must(t, os.Remove(library))
	table := NewTable(Options{})
	defer table.Close()
	must(t, table.Snapshot())
	c.stop()
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", c.Process.Pid)); err == nil {
		t.Fatal("the program is still there")
	}
	o := objectAt(t, table, c.Process.Pid, c.address(t))
	if o.Path != library || !o.deleted || o.Kind != File {
		t.Errorf("%s %q, deleted %t; want %q", o.Kind, o.Path, o.deleted, library)
	}
	if !bytes.Equal(contents(t, o), want) {
		t.Error("it reads another content")
	}
}

func TestLiveAProgramThatWasReplacedIsReadAsItRuns(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	program := compile(t, dir, "prog", waiting)
	want := readFile(t, program)
	c := start(t, exec.Command(program))
	must(t, os.Rename(compile(t, dir, "newer", waiting+"\nint more;"), program))
	table := NewTable(Options{})
	defer table.Close()
	must(t, table.Snapshot(c.Process.Pid))
	o := objectAt(t, table, c.Process.Pid, c.address(t))
	if o.Path != program || !o.deleted || !bytes.Equal(contents(t, o), want) {
		t.Errorf("%q, deleted %t, or another content", o.Path, o.deleted)
	}

	// By its name alone it is not to be had: better nothing than the new one.
	p := table.Process(c.Process.Pid)
	var st unix.Stat_t
	must(t, unix.Stat(fmt.Sprintf("/proc/%d/exe", c.Process.Pid), &st))
	p.exited = true
	if _, err := table.openMapped(p, &seenMapping{id: idOf(&st), path: []byte(program)}); err == nil {
		t.Error("the new file was taken for the old one")
	}
}

func TestLiveAProgramWithoutAFileIsReadable(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	program := compile(t, dir, "prog", waiting)
	runner := compile(t, dir, "runner", `
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <unistd.h>
int main(int argc, char **argv) {
	int from = open(argv[1], O_RDONLY), to = memfd_create("hidden", MFD_CLOEXEC);
	while (sendfile(to, from, 0, 1 << 20) > 0) {}
	fexecve(to, argv + 1, environ);
	return 1;
}`)
	c := start(t, exec.Command(runner, program))
	table := NewTable(Options{})
	defer table.Close()
	must(t, table.Snapshot(c.Process.Pid))
	c.stop()
	o := objectAt(t, table, c.Process.Pid, c.address(t))
	if o.Kind != File || o.Path != "/memfd:hidden" || !o.deleted || !bytes.Equal(contents(t, o), readFile(t, program)) {
		t.Errorf("%s %q, deleted %t, or another content", o.Kind, o.Path, o.deleted)
	}
}

// inNamespace runs a program in a mount namespace of its own where it, and
// only there, is dir/inner/prog.
func inNamespace(t *testing.T, dir, program string) *child {
	t.Helper()
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("unshare(1): it makes the mount namespace")
	}
	inner := filepath.Join(dir, "inner")
	must(t, os.MkdirAll(inner, 0o755))
	return start(t, exec.Command(unshare, "-m", "sh", "-c",
		`mount -t tmpfs none "$1" && cp "$2" "$1/prog" && exec "$1/prog"`, "sh", inner, program))
}

func TestLiveAProgramOfAnotherMountNamespaceIsReadable(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	program := compile(t, dir, "prog", waiting)
	c := inNamespace(t, dir, program)
	inner := filepath.Join(dir, "inner/prog")
	if _, err := os.Stat(inner); err == nil {
		t.Fatal("the namespace is not one of its own")
	}
	table := NewTable(Options{})
	defer table.Close()
	must(t, table.Snapshot(c.Process.Pid))
	pc := c.address(t)
	o := objectAt(t, table, c.Process.Pid, pc)
	if o.Path != inner || o.deleted || !bytes.Equal(contents(t, o), readFile(t, program)) {
		t.Errorf("%q, deleted %t, or another content", o.Path, o.deleted)
	}

	p := table.Process(c.Process.Pid)
	m, _ := p.Find(pc)
	seen := &seenMapping{start: m.Start, end: m.End, id: o.key.id, path: []byte(inner)}
	vanished := &Process{PID: 1 << 21, exited: true, mntNS: p.mntNS, table: table}
	for _, way := range []struct {
		name string
		p    *Process
		seen seenMapping
	}{
		{"by a range that was split since", p, seenMapping{start: m.Start, end: m.Start + 1, id: seen.id, path: []byte("/renamed")}},
		{"by its name beneath the root", p, seenMapping{start: 1, end: 2, id: seen.id, path: seen.path}},
		{"through another process of the namespace", vanished, *seen},
	} {
		f, err := table.openMapped(way.p, &way.seen)
		if err != nil {
			t.Errorf("%s: %v", way.name, err)
			continue
		}
		if f.id != seen.id {
			t.Errorf("%s: another file", way.name)
		}
		f.close()
	}
}

// mountOverlay mounts an overlayfs with a program "prog" that waits in its
// lower layer.
func mountOverlay(t *testing.T) (merged, lower string) {
	t.Helper()
	dir := t.TempDir()
	program := compile(t, dir, "prog", waiting)
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	}
	must(t, os.Rename(program, filepath.Join(dir, "lower/prog")))
	merged = filepath.Join(dir, "merged")
	options := fmt.Sprintf("lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", dir, dir, dir)
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		t.Skipf("overlayfs: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(merged, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return merged, filepath.Join(dir, "lower/prog")
}

func TestLiveAProgramOnOverlayfsIsOneObject(t *testing.T) {
	needRoot(t)
	merged, lower := mountOverlay(t)
	c := start(t, exec.Command(filepath.Join(merged, "prog")))
	table := NewTable(Options{})
	defer table.Close()
	must(t, table.Snapshot(c.Process.Pid))
	p, pc := table.Process(c.Process.Pid), c.address(t)
	o := objectAt(t, table, p.PID, pc)
	if !bytes.Equal(contents(t, o), readFile(t, lower)) {
		t.Error("another content")
	}

	merging, other, err := openfile.Beneath(merged, "prog", openfile.NoLink)
	must(t, err)
	defer unix.Close(merging)
	wrong := idOf(&other)
	wrong.inode++
	if err := checkIdentity(merging, &other, wrong); !errors.Is(err, errReplaced) {
		t.Errorf("another inode on overlayfs: %v; want replaced", err)
	}

	// Records of kernels before 6.18 name the inode of the layer below.
	var st unix.Stat_t
	must(t, unix.Stat(lower, &st))
	m, _ := p.Find(pc)
	record := mmapAt(perfevent.Now(), p.PID, m.Start, m.End-m.Start, st.Ino, filepath.Join(merged, "prog"))
	record.Pgoff = m.Offset
	record.Major, record.Minor = unix.Major(st.Dev), unix.Minor(st.Dev)
	table.Handle(record)
	if other := objectAt(t, table, p.PID, pc); other != o {
		t.Errorf("object %d %q and object %d %q are one file", o.ID, o.Path, other.ID, other.Path)
	}
}

func TestLiveAProgramThatOverlayfsCopiedUpIsReadable(t *testing.T) {
	needRoot(t)
	merged, _ := mountOverlay(t)
	c := start(t, exec.Command(filepath.Join(merged, "prog")))
	must(t, os.Chmod(filepath.Join(merged, "prog"), 0o700)) // copies it to the upper layer
	table := NewTable(Options{})
	defer table.Close()
	must(t, table.Snapshot(c.Process.Pid))
	o := objectAt(t, table, c.Process.Pid, c.address(t))
	if !bytes.Equal(contents(t, o), readFile(t, filepath.Join(merged, "prog"))) {
		t.Error("another content")
	}
}

func TestLiveTheVDSOIsAnELFImage(t *testing.T) {
	dir := t.TempDir()
	program := compile(t, dir, "prog", `
#include <stdio.h>
#include <sys/auxv.h>
int main(void) { printf("%#lx\n", getauxval(AT_SYSINFO_EHDR)); fflush(stdout); return getchar() == 'x'; }`)
	c := start(t, exec.Command(program))
	table := NewTable(Options{Unwind: true})
	defer table.Close()
	must(t, table.Snapshot(c.Process.Pid))
	base := c.address(t)
	o := objectAt(t, table, c.Process.Pid, base)
	r, _, err := o.Open()
	must(t, err)
	image, err := elf.NewFile(r)
	must(t, err)
	names, err := image.DynString(elf.DT_SONAME)
	if err != nil || len(names) != 1 || !strings.HasPrefix(names[0], "linux-vdso.so") {
		t.Errorf("soname %q, %v", names, err)
	}
	m, _ := table.Process(c.Process.Pid).Find(base)
	// That of arm64 has no unwind information; the table says that its functions have no
	// frames.
	if m.Offset != 0 || m.Table == nil || o.unwindErr != nil {
		t.Errorf("offset %#x, table %t, %v", m.Offset, m.Table != nil, o.unwindErr)
	}
}

func TestLiveAProgramGetsItsUnwindTable(t *testing.T) {
	program := compile(t, t.TempDir(), "prog", waiting)
	c := start(t, exec.Command(program))
	for _, unwind := range []bool{true, false} {
		table := NewTable(Options{Unwind: unwind})
		defer table.Close()
		must(t, table.Snapshot(c.Process.Pid))
		m, ok := table.Process(c.Process.Pid).Find(c.address(t))
		if !ok || (m.Table != nil) != unwind {
			t.Errorf("Unwind %t: found %t, table %t", unwind, ok, m.Table != nil)
		}
		if err := table.Objects()[m.Object].unwindErr; err != nil {
			t.Errorf("Unwind %t: %v", unwind, err)
		}
	}
}

func TestLiveAProcessThatVanishesMidwayIsNoError(t *testing.T) {
	table := NewTable(Options{})
	defer table.Close()
	for range testlimit.Calls(100) {
		command := exec.Command("true")
		must(t, command.Start())
		must(t, table.Snapshot()) // it exits meanwhile, at any point of this
		must(t, command.Wait())
	}
}
