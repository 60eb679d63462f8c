package symbols

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// cProgram has functions that only .symtab knows, exported ones, aliases, a
// function chosen at load time, and calls into libc.
const cProgram = `
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static __attribute__((noinline)) int hidden_leaf(int x) { return x * 3 + (int)strlen(getenv("HOME")); }
__attribute__((noinline)) int exported(int x) { return hidden_leaf(x) + 1; }

int __plain(void) { return 4; }
extern int plain(void) __attribute__((weak, alias("__plain")));

static int chosen_1(void) { return 1; }
static void *choose(void) { return chosen_1; }
int chosen(void) __attribute__((ifunc("choose")));

int main(int argc, char **argv) {
	void *p = malloc(argc);
	printf("%d %p %d %d\n", exported(argc), p, plain(), chosen());
	return 0;
}
`

// buildC compiles the fixture with flags and returns its path, which is shared.
func buildC(t testing.TB, flags ...string) string {
	t.Helper()
	return buildSource(t, "gcc", "program.c", cProgram, append([]string{"-O1"}, flags...)...)
}

// buildSource compiles a source with flags and returns the program's path, which
// is shared.
func buildSource(t testing.TB, tool, name, text string, flags ...string) string {
	t.Helper()
	command := append(append([]string{tool, "-o", "program"}, flags...), name)
	return compiled.Program(t, map[string]string{name: text}, command...)
}

// run runs a tool, skips without it, and returns what it printed.
func run(t testing.TB, tool string, args ...string) []byte {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Skipf("no %s", tool)
	}
	cmd := exec.Command(path, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", tool, strings.Join(args, " "), err, stderr.String())
	}
	return out
}

// copyOf copies a test's own file within its directory.
func copyOf(t testing.TB, path, name string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(filepath.Dir(path), name)
	if err := os.WriteFile(out, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return out
}

// hostFiles opens files of this host below root, as Options.Open.
func hostFiles(root string) func(string) (ReaderAtCloser, int64, error) {
	return func(path string) (ReaderAtCloser, int64, error) {
		f, err := os.Open(filepath.Join(root, path))
		if err != nil {
			return nil, 0, err
		}
		info, err := f.Stat()
		if err != nil {
			return nil, 0, err
		}
		return f, info.Size(), nil
	}
}

// allSymbols returns every symbol of f, read through Lookup.
func allSymbols(t testing.TB, f *File) []Symbol {
	t.Helper()
	table, _ := f.load()
	symbols := make([]Symbol, 0, len(table.entries))
	for _, e := range table.entries {
		off, ok := f.image.Offset(e.addr)
		if !ok {
			continue
		}
		s, ok := f.Lookup(off)
		if !ok || s.Start != off {
			t.Errorf("Lookup(%#x) = %v, %v: want the symbol that begins there", off, s, ok)
		}
		symbols = append(symbols, s)
	}
	return symbols
}

func symbolNames(symbols []Symbol) map[string]bool {
	set := map[string]bool{}
	for _, s := range symbols {
		set[s.Name] = true
	}
	return set
}

// canCompile reports whether gcc links programs with flag here.
func canCompile(t testing.TB, flag string) bool {
	t.Helper()
	_, err := compiled.Recipe{
		Sources:  map[string]string{"main.c": "int main(void) { return 0; }"},
		Commands: [][]string{{"gcc", flag, "main.c"}},
	}.Try(t)
	return err == nil
}
