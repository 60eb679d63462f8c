package truth

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
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

// Build compiles the program, unless it is in the cache. Tests share it: see package
// compiled. Build skips the test if a compiler is missing.
func (p Program) Build(t testing.TB) Built {
	t.Helper()
	r, err := p.recipe()
	if missing := (*compiled.MissingError)(nil); errors.As(err, &missing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	built, err := p.in(r.Dir(t))
	if p.Compat && (errors.Is(err, unix.ENOEXEC) || errors.Is(err, fs.ErrNotExist)) {
		t.Skip("32-bit programs can't run here: CONFIG_IA32_EMULATION, /lib/ld-linux.so.2: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return built
}

// Compile compiles the program into an existing directory. The error is a
// *compiled.MissingError if a compiler is missing.
func (p Program) Compile(dir string) (Built, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Built{}, err
	}
	r, err := p.recipe()
	if err != nil {
		return Built{}, err
	}
	if err := r.Make(dir); err != nil {
		return Built{}, fmt.Errorf("build %s: %w", p.Name, err)
	}
	return p.in(dir)
}

// i386Libc is a file of the C library that 32-bit programs are linked with.
const i386Libc = "/usr/lib32/crt1.o"

// recipe returns the recipe for the program. The Go tool runs without cgo, so that its
// programs are static, and outside of any module.
func (p Program) recipe() (compiled.Recipe, error) {
	r := compiled.Recipe{Sources: map[string]string{}, Env: []string{"GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0"}}
	if p.commands == "" {
		return r, fmt.Errorf("no program is named %q on this architecture", p.Name)
	}
	if strings.HasPrefix(p.commands, i386) {
		if _, err := os.Stat(i386Libc); err != nil {
			return r, &compiled.MissingError{Tool: "the C library for 32-bit programs (libc6-dev-i386, lib32gcc-dev)"}
		}
	}
	for command := range strings.Lines(p.commands) {
		r.Commands = append(r.Commands, strings.Fields(command))
	}
	entries, err := sources.ReadDir("testdata")
	if err != nil {
		return r, err
	}
	for _, e := range entries {
		text, err := sources.ReadFile("testdata/" + e.Name())
		if err != nil {
			return r, err
		}
		r.Sources[e.Name()] = string(text)
	}
	return r, nil
}

// in returns the program that was compiled in dir. It runs the program to get its chain.
func (p Program) in(dir string) (Built, error) {
	built := Built{Program: p, Path: filepath.Join(dir, p.Name)}
	chain, err := built.Command(0).Output()
	if err != nil {
		return Built{}, fmt.Errorf("ask %s for its chain: %w", p.Name, err)
	}
	built.Chain = strings.Split(strings.TrimSuffix(string(chain), "\n"), "\n")
	return built, nil
}

// Command returns the command that runs the program. The program is busy for this many
// seconds of CPU time, summed over all its threads or children. Then it exits with status
// 0. With 0 seconds it only prints its chain.
func (b Built) Command(seconds float64) *exec.Cmd {
	return exec.Command(b.Path, strconv.FormatFloat(seconds, 'f', -1, 64))
}
