package callchain

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
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
	tb.Cleanup(func() { f.Close() })
	table, err := Compile(f)
	if err != nil {
		tb.Fatal(err)
	}
	return table
}

// compile builds a program from testdata and returns its path, which is shared.
func compile(t *testing.T, compiler, source string, flags ...string) string {
	t.Helper()
	command := append([]string{compiler, "-o", "program", source}, flags...)
	return compiled.Program(t, compiled.Sources(t, filepath.Join("testdata", source)), command...)
}

// shadowFrame is a caller of the code that runs.
type shadowFrame struct {
	slot  uint64 // stack address that is below rsp once the callee has returned
	pc    uint64
	exact bool // interrupted by a signal; not a return address
}

// frame is the frame as a chain has it.
func (f shadowFrame) frame(space AddressSpace) Frame {
	at := f.pc
	if !f.exact {
		at--
	}
	m, _ := space.Find(at)
	return Frame{Object: m.Object, Return: !f.exact, Offset: at - m.Start + m.Offset}
}
