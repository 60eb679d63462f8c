package dwarfline

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
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

// build writes the sources to a new directory, runs the command there and
// returns the path of the "out" that it made.
func build(t testing.TB, sources map[string]string, command string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range sources {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(tool(t, command), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return filepath.Join(dir, "out")
}
