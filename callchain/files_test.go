package callchain

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// libraryPath finds a shared library of this machine where gcc does.
func libraryPath(tb testing.TB, name string) string {
	tb.Helper()
	out, err := exec.Command("gcc", "-print-file-name="+name).Output()
	if err != nil {
		tb.Skipf("gcc is missing: %v", err)
	}
	path := strings.TrimSpace(string(out))
	if !filepath.IsAbs(path) {
		tb.Skipf("library %s is missing", name)
	}
	return path
}

// goCommand finds the go command, a large Go binary that every machine with
// these tests has.
func goCommand(tb testing.TB) string {
	tb.Helper()
	path, err := exec.LookPath("go")
	if err != nil {
		tb.Skipf("the go command is missing: %v", err)
	}
	return path
}

// compileFile makes the table of a file.
func compileFile(tb testing.TB, path string) *Table {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	table, err := Compile(f)
	if err != nil {
		tb.Fatal(err)
	}
	return table
}
