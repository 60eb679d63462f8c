package library

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
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
	command := append([]string{"gcc", "-o", "out", "source.c"}, flags...)
	copyFile(t, compiled.Program(t, map[string]string{"source.c": source}, command...), path)
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
