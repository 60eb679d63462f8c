package library

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// link makes a library or, with other flags, a program.
func link(t testing.TB, path, source string, flags ...string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed")
	}
	args := append([]string{"-o", path, "-x", "c", "-", "-x", "none"}, flags...)
	c := exec.Command("gcc", args...)
	c.Stdin = strings.NewReader(source)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
}

// linkLibrary makes a library with a soname of its own.
func linkLibrary(t testing.TB, path, soname string) {
	t.Helper()
	link(t, path, "int f(void) { return 1; }\n", "-shared", "-nostdlib", "-Wl,-soname,"+soname)
}

// copyFile copies a file and its mode.
func copyFile(t testing.TB, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	must(t, err)
	info, err := os.Stat(from)
	must(t, err)
	must(t, os.MkdirAll(filepath.Dir(to), 0o755))
	must(t, os.WriteFile(to, b, info.Mode()))
}

func writeFile(t testing.TB, path, text string, mode os.FileMode) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), mode))
}

// checkTarget checks that a name was found to be the file at a path, that the
// kernel's path leads there too, and closes it.
func checkTarget(t *testing.T, name string, target *Target, err error, path string) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v; want %s", name, err, path)
		return
	}
	defer target.File.Close()
	var want, got, kernel unix.Stat_t
	must(t, unix.Stat(path, &want))
	must(t, unix.Fstat(int(target.File.Fd()), &got))
	if !sameFile(&got, &want) {
		t.Errorf("%s is %s; want %s", name, target.Path, path)
		return
	}
	if err := unix.Stat(target.KernelPath, &kernel); err != nil || !sameFile(&kernel, &want) {
		t.Errorf("%s: the kernel's path %q leads elsewhere (%v)", name, target.KernelPath, err)
	}
}
