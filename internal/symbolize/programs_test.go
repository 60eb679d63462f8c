package symbolize_test

import (
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/process"
)

// build compiles a source, "program.c" or "program.cc", and returns the
// program's path.
func build(t *testing.T, name, source string, flags ...string) string {
	t.Helper()
	compiler := "gcc"
	if filepath.Ext(name) == ".cc" {
		compiler = "g++"
	}
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skip(compiler + " is not installed")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "program")
	if err := os.WriteFile(filepath.Join(dir, name), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(compiler, append(flags, "-o", path, name)...)
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, output)
	}
	return path
}

// fileImage is the image of a file, readable until the test ends.
func fileImage(t *testing.T, path string) *collect.Image {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return &collect.Image{Kind: process.File, Path: path, Code: f, Size: info.Size()}
}

// offsetOf is the file offset of a function's first byte, as debug/elf has it.
func offsetOf(t *testing.T, path, function string) uint64 {
	t.Helper()
	offset, err := findOffset(path, function)
	if err != nil {
		t.Fatal(err)
	}
	return offset
}

func findOffset(path, function string) (uint64, error) {
	f, err := elf.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	all, err := f.Symbols()
	if err != nil {
		return 0, err
	}
	for _, s := range all {
		if s.Name != function {
			continue
		}
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && s.Value >= p.Vaddr && s.Value < p.Vaddr+p.Filesz {
				return s.Value - p.Vaddr + p.Off, nil
			}
		}
	}
	return 0, errors.New("no function " + function)
}
