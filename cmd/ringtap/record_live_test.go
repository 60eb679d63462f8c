package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The names of functions are in the recording. Whoever reads it needs none of the recorded files.
func TestLiveARecordingNamesAProgramThatIsGone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root, to record the kernel's functions too")
	}
	built, err := os.ReadFile(knownStacks(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", t.TempDir()) // perf may have put the program into its cache
	for _, tt := range []struct {
		name, options string
		record        func(t *testing.T, path, options, program string) map[string]int
		stays         bool // the names are there without the program
	}{
		{"with names", "-F 999", recordedWith, true},
		{"without stacks", "-F 999 --call-graph none", recordedWith, true},
		{"through a pipe", "-F 999", recordedThroughPipe, true},
		{"without names", "-F 999 --no-symbols", recordedWith, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "known_stacks")
			if err := os.WriteFile(program, built, 0o755); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "perf.data")
			tt.record(t, path, tt.options, program)
			folded := func() string {
				out := filepath.Join(t.TempDir(), "out.folded")
				if code, _, stderr := called(t, "ringtap", "report", path, "--out", out); code != 0 {
					t.Fatalf("exit status %d: %s", code, stderr)
				}
				text, err := os.ReadFile(out)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			before := folded()
			if err := os.Remove(program); err != nil {
				t.Fatal(err)
			}
			after := folded()
			if !strings.Contains(before, "known_first") {
				t.Fatalf("the program is not in the report:\n%.2000s", before)
			}
			if (before == after) != tt.stays || strings.Contains(after, "known_first") != tt.stays {
				t.Errorf("with the program:\n%.2000s\nwithout it:\n%.2000s", before, after)
			}
		})
	}
}

// recordedThroughPipe is recordedWith, through a pipe into the file. It counts no samples.
func recordedThroughPipe(t *testing.T, path, options, program string) map[string]int {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd := exec.Command(exe)
	cmd.Args = append(append([]string{"ringtap", "record", "-o", "-"}, strings.Fields(options)...), "--", program)
	cmd.Stderr = &stderr
	b, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return nil
}
