package symbols

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// addMiniDebugInfo puts the .symtab of full into program as distributions do.
func addMiniDebugInfo(t *testing.T, program, full string) {
	t.Helper()
	mini := full + ".mini"
	run(t, "objcopy", "--only-keep-debug", full, mini)
	run(t, "objcopy", "-S", "--remove-section", ".comment", "--keep-symbol=hidden_leaf", "--keep-symbol=chosen_1", "--keep-symbol=main", mini)
	run(t, "xz", "-k", mini)
	run(t, "objcopy", "--add-section", ".gnu_debugdata="+mini+".xz", program)
}

func TestMiniDebugInfoNamesWhatTheDynamicTableLacks(t *testing.T) {
	program := compiled.Copy(t, buildC(t, "-rdynamic"))
	var want []Symbol
	for _, s := range allSymbols(t, openFile(t, program, Options{})) {
		switch s.Name {
		case "main", "hidden_leaf", "chosen_1", "exported", "plain", "malloc@plt":
			want = append(want, s)
		}
	}
	full := copyOf(t, program, "full")
	run(t, "strip", program)
	addMiniDebugInfo(t, program, full)
	f := openFile(t, program, Options{})
	if err := f.Load(); err != nil {
		t.Errorf("Load: %v", err)
	}
	if len(want) != 6 {
		t.Fatalf("the fixture has %v", want)
	}
	wantSymbols(t, f, want)
}

func TestXZ(t *testing.T) {
	text := bytes.Repeat([]byte("all work and no play\n"), 20000)
	for _, args := range [][]string{{"-0"}, {"-9e"}, {"--check=crc32"}, {"--check=none"}, {"--check=sha256"}, {"--block-size=65536"}} {
		path := filepath.Join(t.TempDir(), "text")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		run(t, "xz", append(args, path)...)
		packed, err := os.ReadFile(path + ".xz")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := unxz(packed, len(text)); err != nil || !bytes.Equal(got, text) {
			t.Errorf("xz %v: %d bytes, %v; want %d", args, len(got), err, len(text))
		}
		if _, err := unxz(packed, len(text)-1); !errors.Is(err, ErrSkipped) {
			t.Errorf("xz %v: more than the limit gives %v", args, err)
		}
		for _, cut := range []int{0, 5, 12, 30, len(packed) / 2} {
			if got, err := unxz(packed[:cut], len(text)); err == nil {
				t.Errorf("xz %v: %d of %d bytes give %d bytes and no error", args, cut, len(packed), len(got))
			}
		}
	}
}

func TestXZRefusesADictionaryOfGigabytes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(path, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	run(t, "xz", path)
	packed, err := os.ReadFile(path + ".xz")
	if err != nil {
		t.Fatal(err)
	}
	// Behind the stream header of 12 bytes: size, flags, filter 0x21, one byte
	// of properties, the dictionary.
	if !bytes.Equal(packed[14:16], []byte{0x21, 1}) {
		t.Skip("xz wrote sizes into the block header")
	}
	packed[16] = 39 // 3 GiB
	if _, err := unxz(packed, 1<<20); !errors.Is(err, errXZ) {
		t.Errorf("got %v, want %v", err, errXZ)
	}
}

// A section of 15 KB unpacks to 100 MB. It is not unpacked, and whoever asks for the
// functions is told.
func TestABombIsSkipped(t *testing.T) {
	program := compiled.Copy(t, buildC(t, "-rdynamic"))
	bomb := filepath.Join(t.TempDir(), "bomb")
	if err := os.WriteFile(bomb, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(bomb, 100<<20); err != nil {
		t.Fatal(err)
	}
	run(t, "xz", "-0", bomb)
	run(t, "strip", program)
	run(t, "objcopy", "--add-section", ".gnu_debugdata="+bomb+".xz", program)
	f := openFile(t, program, Options{})
	functions, err := f.Functions()
	if !errors.Is(err, ErrSkipped) || len(functions) == 0 {
		t.Errorf("%d functions, %v", len(functions), err)
	}
	if err := f.Load(); !errors.Is(err, ErrSkipped) {
		t.Errorf("Load: %v", err)
	}
}
