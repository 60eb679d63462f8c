package symbolize_test

import (
	"debug/elf"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// build compiles a source, "program.c" or "program.cc", and returns the
// program's path, which is shared.
func build(t *testing.T, name, source string, flags ...string) string {
	t.Helper()
	compiler := "gcc"
	if filepath.Ext(name) == ".cc" {
		compiler = "g++"
	}
	command := append(append([]string{compiler}, flags...), "-o", "program", name)
	return compiled.Program(t, map[string]string{name: source}, command...)
}

// fileImage is the image of a file, readable until the test ends.
func fileImage(t *testing.T, path string) *stack.Image {
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
	return &stack.Image{Kind: process.File, Path: path, Code: f, Size: info.Size()}
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
