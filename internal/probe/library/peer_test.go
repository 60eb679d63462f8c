package library

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"golang.org/x/sys/unix"
)

// cacheLine is a line of ldconfig -p: soname (kind, …) => path.
var cacheLine = regexp.MustCompile(`(?m)^\t(\S+) \(libc6,(x86-64|AArch64)([^)]*)\) => (.*)$`)

func ldconfig(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("ldconfig", append([]string{"-p"}, args...)...).Output()
	if err != nil {
		t.Skipf("ldconfig: %v", err)
	}
	return string(out)
}

// TestPeerEverySonameOfLdconfigIsFound asks for every library of this machine by
// its soname.
func TestPeerEverySonameOfLdconfigIsFound(t *testing.T) {
	lines := cacheLine.FindAllStringSubmatch(ldconfig(t), -1)
	if len(lines) == 0 {
		t.Skip("ldconfig lists no libraries of this machine")
	}
	seen := map[string]bool{}
	for _, m := range lines {
		// The first of a name is what ld.so takes, but for those in glibc-hwcaps.
		if soname, hwcaps := m[1], m[3]; !seen[soname] && hwcaps == "" {
			seen[soname] = true
			target, err := Find(soname, Options{})
			checkTarget(t, soname, target, err, m[4])
		}
	}
	t.Logf("%d sonames", len(seen))
}

// TestPeerLdconfigListsTheSameCache compares whole caches, in order.
func TestPeerLdconfigListsTheSameCache(t *testing.T) {
	anyLine := regexp.MustCompile(`(?m)^\t(.*) \([^)]*\) => (.*)$`)
	for _, path := range []string{"/etc/ld.so.cache", "testdata/cache-old", "testdata/cache-compat", "testdata/cache-new"} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Logf("%v", err)
			continue
		}
		got, err := readCache(b)
		must(t, err)
		want := anyLine.FindAllStringSubmatch(ldconfig(t, "-C", path), -1)
		if len(got) != len(want) {
			t.Errorf("%s: %d entries; ldconfig lists %d", path, len(got), len(want))
			continue
		}
		for i, m := range want {
			if got[i].soname != m[1] || got[i].path != m[2] {
				t.Errorf("%s: %+v; ldconfig lists %s => %s", path, got[i], m[1], m[2])
			}
		}
	}
}

// TestPeerLddLoadsTheLibraryThatIsFound compares with what the loader maps.
func TestPeerLddLoadsTheLibraryThatIsFound(t *testing.T) {
	if _, err := exec.LookPath("ldd"); err != nil {
		t.Skip("ldd is not installed")
	}
	loaded := regexp.MustCompile(`(?m)^\t(\S+) => (/\S+) \(`)
	compared := 0
	for _, command := range []string{"bash", "ls", "gcc", "gdb", "perf", "bpftrace", "git", "python3.11", "ssh"} {
		program, err := exec.LookPath(command)
		if err != nil {
			continue
		}
		target, err := Find(command, Options{})
		var script *ScriptError
		if errors.As(err, &script) {
			continue
		}
		checkTarget(t, command, target, err, program)
		out, err := exec.Command("ldd", program).Output()
		if err != nil {
			continue // static
		}
		for _, m := range loaded.FindAllStringSubmatch(string(out), -1) {
			target, err := Find(m[1], Options{})
			checkTarget(t, command+" needs "+m[1], target, err, m[2])
			compared++
		}
	}
	t.Logf("%d libraries", compared)
}

// TestPeerTheLoaderTakesTheFirstOfTheCacheAndTheHighestLevel lets ld.so itself
// choose in a root directory with several files for one soname.
func TestPeerTheLoaderTakesTheFirstOfTheCacheAndTheHighestLevel(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to change the root directory")
	}
	root := t.TempDir()
	for _, path := range []string{
		"opt/a/libtwo.so.1", "opt/b/libtwo.so.1", "usr/lib/libone.so.1",
		"usr/lib/glibc-hwcaps/x86-64-v2/libone.so.1", "usr/lib/glibc-hwcaps/x86-64-v3/libone.so.1",
		"usr/lib/glibc-hwcaps/x86-64-v4/libone.so.1",
	} {
		linkLibrary(t, filepath.Join(root, path), filepath.Base(path))
	}
	program := waitingProgram(t, root, "-Wl,--no-as-needed",
		filepath.Join(root, "opt/b/libtwo.so.1"), filepath.Join(root, "usr/lib/libone.so.1"))
	writeFile(t, filepath.Join(root, "etc/ld.so.conf"), "/opt/a\n/opt/b\n", 0o644)
	for _, form := range []string{"new", "compat"} {
		if out, err := exec.Command("ldconfig", "-r", root, "-c", form).CombinedOutput(); err != nil {
			t.Skipf("ldconfig: %v\n%s", err, out)
		}
		pid := startIn(t, root, program)
		for _, soname := range []string{"libone.so.1", "libtwo.so.1"} {
			path := mappedPath(t, pid, soname)
			target, err := Find(soname, Options{root: root})
			checkTarget(t, form+" "+soname, target, err, path)
			t.Logf("%s: the loader maps %s", form, readlink(t, path))
		}
	}
}

// mappedPath is a path by which we reach the file of that name that a process
// has mapped.
func mappedPath(t *testing.T, pid int, base string) string {
	t.Helper()
	v := &view{pid: pid}
	mapped, err := v.mapped()
	must(t, err)
	for _, m := range mapped {
		var st unix.Stat_t
		if filepath.Base(m.path) == base && unix.Stat(m.link, &st) == nil {
			return m.link
		}
	}
	t.Fatalf("process %d has not mapped %s", pid, base)
	return ""
}

func readlink(t *testing.T, path string) string {
	t.Helper()
	target, err := os.Readlink(path)
	must(t, err)
	return target
}
