// Package compiled compiles programs for tests, each one only once. It keeps them in a
// cache on disk, under a hash of the sources, the command lines, the environment and the
// compilers.
//
//	Recipe → Dir, shared by all tests of all packages → Copy, for a test that needs its own
//
// Tests may only read and run a program of the cache. A test that changes, strips or deletes
// it, writes a file next to it, or puts a probe on it takes a Copy: a probe belongs to an
// inode, and tests of other packages may run the same file.
package compiled

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// Recipe says how to make files from sources.
type Recipe struct {
	// Sources has the text of each source file. The keys are paths relative to the
	// directory in which the commands run.
	Sources map[string]string
	// Commands are run in that directory, in order. The first word of each is looked up
	// on the PATH.
	Commands [][]string
	// Env is added to the environment, as "NAME=value".
	Env []string
}

// MissingError says that a tool which a recipe needs is not installed.
type MissingError struct{ Tool string }

func (e *MissingError) Error() string { return e.Tool + " is not installed" }

// Program returns the path of the file that a command makes, which is the word after
// its -o. It skips the test if the tool is missing.
func Program(t testing.TB, sources map[string]string, command ...string) string {
	t.Helper()
	i := slices.Index(command, "-o")
	if i < 0 || i+1 == len(command) {
		t.Fatalf("%q has no -o", command)
	}
	return filepath.Join(Recipe{Sources: sources, Commands: [][]string{command}}.Dir(t), command[i+1])
}

// Sources reads source files. The keys of the result are the last parts of their paths.
func Sources(t testing.TB, paths ...string) map[string]string {
	t.Helper()
	sources := map[string]string{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sources[filepath.Base(path)] = string(text)
	}
	return sources
}

// Dir returns the directory in which the recipe's commands have run, in this test
// or earlier. It skips the test if a tool is missing, and fails the test if it changes
// anything in the directory.
func (r Recipe) Dir(t testing.TB) string {
	t.Helper()
	dir, err := r.Try(t)
	if missing := (*MissingError)(nil); errors.As(err, &missing) {
		t.Skip(missing.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	if made, err := os.ReadFile(filepath.Join(dir, marker)); err == nil {
		t.Cleanup(func() {
			if is, err := listing(dir); err != nil || is != string(made) {
				t.Errorf("the files in %s have changed (%v), and other tests use them; this test needs a compiled.Copy", dir, err)
			}
		})
	}
	return dir
}

// Make runs the recipe in an existing directory, without the cache. The error is a
// *MissingError if a tool is missing.
func (r Recipe) Make(dir string) error { return r.run(dir, nil) }

// run is Make with locked files. The commands and their children inherit these, and so
// hold the locks until the last of them ends.
func (r Recipe) run(dir string, lock []*os.File) error {
	for _, name := range slices.Sorted(maps.Keys(r.Sources)) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(r.Sources[name]), 0o644); err != nil {
			return err
		}
	}
	for _, command := range r.Commands {
		if _, err := exec.LookPath(command[0]); err != nil {
			return &MissingError{Tool: command[0]}
		}
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Dir = dir
		cmd.Env = append(cmd.Environ(), r.Env...)
		cmd.ExtraFiles = lock
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(command, " "), err, output)
		}
	}
	return nil
}

// Copy copies a file and everything else in its directory to a directory of the test,
// and returns the path of the copied file.
func Copy(t testing.TB, path string) string {
	t.Helper()
	dir := t.TempDir()
	// A file that is open for writing can't be run. Without the lock, a child that another
	// test starts at this time would have the copy open for a moment.
	syscall.ForkLock.RLock()
	err := os.CopyFS(dir, os.DirFS(filepath.Dir(path)))
	syscall.ForkLock.RUnlock()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, filepath.Base(path))
}
