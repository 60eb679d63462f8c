package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/dev/vmrun/wire"
)

func TestACompilerRunsForTheGuestAndItsOutputIsSentBack(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed")
	}
	shared := t.TempDir()
	host := &tools{shared: shared, arch: "amd64", native: true}
	source, program := filepath.Join(shared, "t/001/a.c"), filepath.Join(shared, "t/002/a")
	answer := host.run(wire.ToolRequest{
		ID: 7, Args: []string{"gcc", "-o", program, source}, Dir: "/",
		Files: []wire.File{{Path: source, Mode: 0o644, Data: []byte("int main(void) { return 3; }")}},
	})
	if answer.ID != 7 || answer.Code != 0 || len(answer.Files) != 1 || answer.Files[0].Path != program || answer.Files[0].Mode != 0o755 ||
		!strings.HasPrefix(string(answer.Files[0].Data), "\x7fELF") {
		t.Errorf("code %d, %d files: %s", answer.Code, len(answer.Files), answer.Stderr)
	}
	// The same again changes the file, whose size stays.
	if answer := host.run(wire.ToolRequest{Args: []string{"gcc", "-o", program, source}, Dir: "/"}); len(answer.Files) != 1 {
		t.Errorf("compiled again: %d files", len(answer.Files))
	}
	if answer := host.run(wire.ToolRequest{Args: []string{"gcc", "-o", program, source + "x"}, Dir: "/"}); answer.Code != 1 || len(answer.Stderr) == 0 {
		t.Errorf("of a source that is missing: code %d, %q", answer.Code, answer.Stderr)
	}
}

func TestTheGuestWritesAndRunsNothingElseOnTheHost(t *testing.T) {
	shared := t.TempDir()
	host := &tools{shared: shared, arch: "amd64", native: true}
	for name, request := range map[string]wire.ToolRequest{
		"another command": {Args: []string{"sh", "-c", "true"}, Dir: "/"},
		"a file outside":  {Args: []string{"gcc", "--version"}, Dir: "/", Files: []wire.File{{Path: shared + "/../x"}}},
		"a sibling":       {Args: []string{"gcc", "--version"}, Dir: "/", Files: []wire.File{{Path: shared + "x/y"}}},
		"no command":      {Dir: "/"},
	} {
		if answer := host.run(request); answer.Code != 125 || len(answer.Stderr) == 0 {
			t.Errorf("%s: code %d, %q", name, answer.Code, answer.Stderr)
		}
	}
}
