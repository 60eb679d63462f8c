package symbols

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// stripWithDebugFile builds the fixture, moves its symbols to the file debug,
// and returns the stripped program's path and all symbols it had.
func stripWithDebugFile(t *testing.T, debug string, flags ...string) (program string, want []Symbol) {
	t.Helper()
	program = compiled.Copy(t, buildC(t, flags...))
	want = allSymbols(t, openFile(t, program, Options{}))
	full := copyOf(t, program, "full")
	target := filepath.Join(filepath.Dir(program), debug)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		t.Fatal(err)
	}
	run(t, "objcopy", "--only-keep-debug", full, target)
	run(t, "strip", program)
	return program, want
}

func wantSymbols(t *testing.T, f *File, want []Symbol) {
	t.Helper()
	for _, w := range want {
		if got, ok := f.Lookup(w.Start); !ok || got != w {
			t.Errorf("Lookup(%#x) = %v, %v, want %v", w.Start, got, ok, w)
		}
	}
}

func TestADebugLinkIsFollowed(t *testing.T) {
	for _, debug := range []string{"program.debug", ".debug/program.debug"} {
		t.Run(debug, func(t *testing.T) {
			program, want := stripWithDebugFile(t, debug, "-Wl,--build-id=none")
			dir := filepath.Dir(program)
			run(t, "objcopy", "--add-gnu-debuglink="+filepath.Join(dir, debug), program)
			f := openFile(t, program, Options{Path: "/program", Open: hostFiles(dir)})
			wantSymbols(t, f, want)
			if err := f.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
	t.Run("below /usr/lib/debug", func(t *testing.T) {
		program, want := stripWithDebugFile(t, "usr/lib/debug/opt/program.debug", "-Wl,--build-id=none")
		dir := filepath.Dir(program)
		run(t, "objcopy", "--add-gnu-debuglink="+filepath.Join(dir, "usr/lib/debug/opt/program.debug"), program)
		f := openFile(t, program, Options{Path: "/opt/program", Open: hostFiles(dir)})
		wantSymbols(t, f, want)
	})
}

func TestADebugFileOfAnotherBuildIsNotUsed(t *testing.T) {
	for name, flags := range map[string][]string{
		"checksum": {"-Wl,--build-id=none"},
		"build id": {"-Wl,--build-id=sha1"},
	} {
		t.Run(name, func(t *testing.T) {
			program, _ := stripWithDebugFile(t, "program.debug", flags...)
			dir := filepath.Dir(program)
			debug := filepath.Join(dir, "program.debug")
			run(t, "objcopy", "--add-gnu-debuglink="+debug, program)
			other := buildC(t, append(flags, "-O0")...)
			run(t, "objcopy", "--only-keep-debug", other, debug)
			f := openFile(t, program, Options{Path: "/program", Open: hostFiles(dir)})
			if symbolNames(allSymbols(t, f))["hidden_leaf"] {
				t.Error("symbols of another build are used")
			}
			if f.Load() == nil {
				t.Error("Load is silent about the file that does not fit")
			}
		})
	}
}

func TestADebugFileIsFoundByBuildID(t *testing.T) {
	program, want := stripWithDebugFile(t, "program.debug", "-Wl,--build-id=sha1")
	root := filepath.Dir(program)
	f := openFile(t, program, Options{})
	id := f.BuildID()
	if b, err := hex.DecodeString(id); err != nil || len(b) != 20 {
		t.Fatalf("build id %q", id)
	}
	target := filepath.Join(root, "usr/lib/debug/.build-id", id[:2], id[2:]+".debug")
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(root, "program.debug"), target); err != nil {
		t.Fatal(err)
	}
	wantSymbols(t, openFile(t, program, Options{Open: hostFiles(root)}), want)
}

func TestADebugLinkCannotLeadElsewhere(t *testing.T) {
	for _, name := range []string{"../program.debug", "/etc/program.debug", ".."} {
		program, _ := stripWithDebugFile(t, "program.debug", "-Wl,--build-id=none")
		section := append([]byte(name), make([]byte, 8)...)
		section = section[:len(section)&^3]
		link := filepath.Join(filepath.Dir(program), "link")
		if err := os.WriteFile(link, section, 0o644); err != nil {
			t.Fatal(err)
		}
		run(t, "objcopy", "--add-section", ".gnu_debuglink="+link, program)
		f := openFile(t, program, Options{Path: "/dir/program", Open: func(path string) (ReaderAtCloser, int64, error) {
			t.Errorf("link %s: %s was opened", name, path)
			return nil, 0, os.ErrNotExist
		}})
		if err := f.Load(); err != nil {
			t.Errorf("link %s: %v", name, err)
		}
	}
}
