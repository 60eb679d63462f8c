package truth

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

//go:embed testdata
var sources embed.FS

// Built is a program that has been compiled.
type Built struct {
	Program
	// Path is the executable's absolute path. What it loads or refers to
	// lies in the same directory.
	Path string
	// Chain is the busy chain, root first, as the program itself prints it;
	// see Gap.
	Chain []string
}

// MissingError says that a tool which building needs is not installed.
type MissingError struct{ Tool string }

func (e *MissingError) Error() string { return e.Tool + " is not installed" }

// Build compiles the program into a directory that lives as long as the test.
// It skips the test, naming the tool, where a compiler is missing.
func (p Program) Build(t testing.TB) Built {
	t.Helper()
	built, err := p.Compile(t.TempDir())
	if missing := (*MissingError)(nil); errors.As(err, &missing) {
		t.Skip(missing.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// Compile compiles the program into a directory that exists. The error is a
// *MissingError where a compiler is missing.
func (p Program) Compile(dir string) (Built, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Built{}, err
	}
	if p.commands == "" {
		return Built{}, fmt.Errorf("no program is named %q on this architecture", p.Name)
	}
	if err := writeSources(dir); err != nil {
		return Built{}, fmt.Errorf("write the sources of %s: %w", p.Name, err)
	}
	for command := range strings.Lines(p.commands) {
		if err := run(dir, strings.Fields(command)); err != nil {
			return Built{}, fmt.Errorf("build %s: %w", p.Name, err)
		}
	}
	built := Built{Program: p, Path: filepath.Join(dir, p.Name)}
	chain, err := built.Command(0).Output()
	if err != nil {
		return Built{}, fmt.Errorf("ask %s for its chain: %w", p.Name, err)
	}
	built.Chain = strings.Split(strings.TrimSuffix(string(chain), "\n"), "\n")
	return built, nil
}

// Command returns the command that is busy for that many seconds of CPU time,
// of all its threads or children together, and then exits with status 0. With
// 0 seconds it only prints its chain.
func (b Built) Command(seconds float64) *exec.Cmd {
	return exec.Command(b.Path, strconv.FormatFloat(seconds, 'f', -1, 64))
}

func writeSources(dir string) error {
	entries, err := sources.ReadDir("testdata")
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := sources.ReadFile("testdata/" + e.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// run runs one tool in dir. The Go tool runs without cgo, so that its programs
// are static, and outside of any module.
func run(dir string, args []string) error {
	if _, err := exec.LookPath(args[0]); err != nil {
		return &MissingError{Tool: args[0]}
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, output)
	}
	return nil
}
