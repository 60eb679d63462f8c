package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestWhatAToolMayReadIsSentWithIt(t *testing.T) {
	shared := t.TempDir()
	for _, name := range []string{"t/001/a.c", "t/001/a.h", "t/002/lib.so", "t/003/other", "u/cwd", "top"} {
		path := filepath.Join(shared, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filesFor(shared, shared+"/u", []string{"-o", shared + "/t/004/a", shared + "/t/001/a.c", "-Wl,-rpath," + shared + "/t/002/x", "/etc/passwd"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		name, _ := filepath.Rel(shared, f.Path)
		names = append(names, name)
		if string(f.Data) != name {
			t.Errorf("%s has %q", name, f.Data)
		}
	}
	if want := []string{"t/001/a.c", "t/001/a.h", "t/002/lib.so", "u/cwd"}; !slices.Equal(names, want) {
		t.Errorf("sent %q, want %q", names, want)
	}
	if files, err := filesFor(shared, "/", []string{"x.c"}); err != nil || len(files) != 0 {
		t.Errorf("outside of the shared directory: %d files, %v", len(files), err)
	}
}
