package dwarfline

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// elfSource is a Source over an ELF file.
type elfSource struct{ *elf.File }

func (s elfSource) SectionData(name string) ([]byte, error) {
	sec := s.Section(name)
	if sec == nil {
		return nil, nil
	}
	return sec.Data()
}

// openELF returns the Index of the file at path and the file.
func openELF(t testing.TB, path string) (*Index, *elf.File) {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	x, err := Open(elfSource{f}, f.ByteOrder)
	if err != nil {
		t.Fatal(err)
	}
	return x, f
}

// tool returns the path of a program or skips the test.
func tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	home, _ := os.UserHomeDir()
	for _, dir := range []string{filepath.Join(home, ".cargo/bin"), "/usr/local/go/bin"} {
		if path := filepath.Join(dir, name); exec.Command(path, "--version").Run() == nil {
			return path
		}
	}
	t.Skipf("no %s", name)
	return ""
}

// build runs the command over the sources and returns the path of the "out" that
// it made, which is shared. "env" may set one variable for another command.
func build(t testing.TB, sources map[string]string, command string, args ...string) string {
	t.Helper()
	env := []string{"CGO_ENABLED=0", "GOFLAGS="}
	if command == "env" {
		env, command, args = append(env, args[0]), args[1], args[2:]
	}
	r := compiled.Recipe{Sources: sources, Commands: [][]string{append([]string{tool(t, command)}, args...)}, Env: env}
	return filepath.Join(r.Dir(t), "out")
}
