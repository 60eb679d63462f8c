package library

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace"
)

// probeHits sets a probe on the program's function by a path for the kernel and
// returns how often the kernel counts it while the program calls it once.
func probeHits(t *testing.T, group *ftrace.Group, event, kernelPath string, offset uint64, p *process) uint64 {
	t.Helper()
	id, err := group.Define(ftrace.Dynamic{Type: 'p', Event: event, Place: fmt.Sprintf("%s:%#x", kernelPath, offset)})
	if err != nil {
		t.Fatalf("the kernel refuses %q: %v", kernelPath, err)
	}
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id}
	attr.Size = uint32(unsafe.Sizeof(attr))
	fd, err := unix.PerfEventOpen(&attr, p.Process.Pid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	must(t, err)
	defer unix.Close(fd)
	p.hit()
	var count [8]byte
	_, err = unix.Read(fd, count[:])
	must(t, err)
	return binary.NativeEndian.Uint64(count[:])
}

func newGroup(t *testing.T) *ftrace.Group {
	t.Helper()
	needRoot(t)
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		t.Skipf("tracefs: %v", err)
	}
	group, err := tracefs.NewGroup("uprobe_events")
	if err != nil {
		t.Skipf("user probes: %v", err)
	}
	t.Cleanup(func() { must(t, group.Close()) })
	return group
}

// hitOffset is the file offset of the waiting program's function.
func hitOffset(t *testing.T, path string) uint64 {
	t.Helper()
	f, err := elf.Open(path)
	must(t, err)
	defer f.Close()
	list, err := f.Symbols()
	must(t, err)
	for _, s := range list {
		if s.Name == "hit" {
			section := f.Sections[s.Section]
			return s.Value - section.Addr + section.Offset
		}
	}
	t.Fatal("no function hit")
	return 0
}

// TestLiveTheKernelsPathReachesTheRunningProgram counts hits of probes that are
// set by each kind of path.
func TestLiveTheKernelsPathReachesTheRunningProgram(t *testing.T) {
	group := newGroup(t)
	dir := t.TempDir()
	for i, name := range []string{"plain", "two words", "co:lon", "has#hash", "à"} {
		path := filepath.Join(dir, name)
		link(t, path, waiting)
		p := start(t, exec.Command(path))
		check := func(what, name string, o Options) {
			t.Helper()
			target, err := Find(name, o)
			must(t, err)
			defer target.File.Close()
			event := fmt.Sprintf("%s_%d", what, i)
			if n := probeHits(t, group, event, target.KernelPath, hitOffset(t, target.KernelPath), p); n != 1 {
				t.Errorf("%s, %s: %d hits by %s; want 1", name, what, n, target.KernelPath)
			}
		}
		check("by_path", path, Options{})
		check("by_pid", name, Options{PID: p.Process.Pid})
		must(t, os.Remove(path))
		check("deleted", name, Options{PID: p.Process.Pid})
	}
	root := t.TempDir()
	program := waitingProgram(t, root)
	c := exec.Command(program)
	c.Dir, c.SysProcAttr = "/", inRoot(root)
	p := start(t, c)
	target, err := Find(program, Options{PID: p.Process.Pid})
	must(t, err)
	defer target.File.Close()
	if n := probeHits(t, group, "container", target.KernelPath, hitOffset(t, filepath.Join(root, program)), p); n != 1 {
		t.Errorf("in a container: %d hits by %s; want 1", n, target.KernelPath)
	}
}

// mountOverlay mounts dir/merged with the layers dir/lower and dir/upper.
func mountOverlay(t *testing.T, dir string) (merged string) {
	t.Helper()
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		must(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	merged = filepath.Join(dir, "merged")
	options := fmt.Sprintf("lowerdir=%s/lower,upperdir=%s/upper,workdir=%s/work", dir, dir, dir)
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		t.Skipf("overlayfs: %v", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(merged, unix.MNT_DETACH)) })
	return merged
}

// TestLiveAProgramOnOverlayfsIsReachedUntilItIsCopiedUp is what the package doc
// says about overlayfs.
func TestLiveAProgramOnOverlayfsIsReachedUntilItIsCopiedUp(t *testing.T) {
	group := newGroup(t)
	dir := t.TempDir()
	link(t, filepath.Join(dir, "lower/prog"), waiting)
	merged := mountOverlay(t, dir)
	offset := hitOffset(t, filepath.Join(dir, "lower/prog"))
	p := start(t, exec.Command(filepath.Join(merged, "prog")))
	hits := func(what string, path string, o Options, p *process) uint64 {
		t.Helper()
		target, err := Find(path, o)
		must(t, err)
		defer target.File.Close()
		return probeHits(t, group, what, target.KernelPath, offset, p)
	}
	both := map[string]string{"merged": filepath.Join(merged, "prog"), "lower": filepath.Join(dir, "lower/prog")}
	for what, path := range both {
		if n := hits(what, path, Options{}, p); n != 1 {
			t.Errorf("by the %s path: %d hits; want 1", what, n)
		}
	}
	if n := hits("mapped", "prog", Options{PID: p.Process.Pid}, p); n != 1 {
		t.Errorf("as a mapped file: %d hits; want 1", n)
	}

	must(t, os.Chmod(both["merged"], 0o700)) // copies it to the upper layer
	if n := hits("lower_after", both["lower"], Options{}, p); n != 1 {
		t.Errorf("running since before the copy, by the lower path: %d hits; want 1", n)
	}
	late := start(t, exec.Command(both["merged"]))
	if n := hits("merged_after", both["merged"], Options{}, late); n != 1 {
		t.Errorf("started after the copy: %d hits; want 1", n)
	}
	t.Logf("running since before the copy, by the merged path: %d hits", hits("merged_old", both["merged"], Options{}, p))
}

// TestLiveAProgramInAContainerOnOverlayfsIsReached starts a program as container
// engines do: its root directory is an overlay, and our own is out of sight.
func TestLiveAProgramInAContainerOnOverlayfsIsReached(t *testing.T) {
	group := newGroup(t)
	for _, tool := range []string{"unshare", "pivot_root"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(tool + " is not installed")
		}
	}
	dir := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(dir, "lower/old"), 0o755))
	program := waitingProgram(t, filepath.Join(dir, "lower"))
	c := exec.Command("unshare", "--mount", "sh", "-c", "pivot_root . old && exec "+program)
	c.Dir = mountOverlay(t, dir)
	p := start(t, c)
	o := Options{PID: p.Process.Pid}
	offset := hitOffset(t, filepath.Join(dir, "lower", program))
	for i, name := range []string{"prog", program, fmt.Sprintf("/proc/%d/root%s", p.Process.Pid, program)} {
		target, err := Find(name, o)
		must(t, err)
		defer target.File.Close()
		if n := probeHits(t, group, fmt.Sprintf("hit_%d", i), target.KernelPath, offset, p); n != 1 {
			t.Errorf("%s: %d hits by %s; want 1", name, n, target.KernelPath)
		}
	}
	target, err := Find("libc", o)
	checkTarget(t, "libc", target, err, mappedPath(t, p.Process.Pid, "libc.so.6"))
}
