package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestPeerCpioUnpacksTheArchive(t *testing.T) {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("busybox is not installed")
	}
	dir := t.TempDir()
	for _, text := range []string{"", "a", "ab", "abc", "abcd", "abcde"} {
		if err := os.WriteFile(filepath.Join(dir, "odd"+text), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var w strings.Builder
	a := &archive{w: &w}
	a.directory("d")
	for _, text := range []string{"", "a", "ab", "abc", "abcd", "abcde"} {
		a.file("d/"+text+"x", filepath.Join(dir, "odd"+text), 0o755)
	}
	a.add("link", modeLink|0o777, 2, strings.NewReader("d/"), 0, 0)
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	cmd := exec.Command(busybox, "cpio", "-i", "-d")
	cmd.Dir, cmd.Stdin = to, strings.NewReader(w.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, text := range []string{"", "a", "ab", "abc", "abcd", "abcde"} {
		path := filepath.Join(to, "link", text+"x")
		got, err := os.ReadFile(path)
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || string(got) != text || info.Mode() != 0o755 {
			t.Errorf("%s: %q, %v, %v", path, got, info, err)
		}
	}
}

func TestAFileThatIsMissingIsTheArchivesError(t *testing.T) {
	a := &archive{w: &strings.Builder{}}
	a.file("x", "/nonexistent/x", 0o644)
	a.directory("d")
	if err := a.close(); err == nil || !strings.Contains(err.Error(), "/nonexistent/x") {
		t.Errorf("close = %v", err)
	}
}
