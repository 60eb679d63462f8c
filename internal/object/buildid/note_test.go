package buildid

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

// wanted is the build id of the test program.
const wanted = "0123456789abcdef0123456789abcdef01234500"

// program returns a program with that build id: "0x…", "md5", "none".
func program(t testing.TB, id string, flags ...string) string {
	t.Helper()
	return compiled.Program(t, map[string]string{"main.c": "int main(void) { return 0; }\n"},
		append([]string{"gcc", "-g", "-Wl,--build-id=" + id, "-o", "program", "main.c"}, flags...)...)
}

// debugFile returns the separate debug file of the test program.
func debugFile(t testing.TB) string {
	t.Helper()
	recipe := compiled.Recipe{
		Sources: map[string]string{"main.c": "int main(void) { return 0; }\n"},
		Commands: [][]string{
			{"gcc", "-g", "-Wl,--build-id=0x" + wanted, "-o", "program", "main.c"},
			{"objcopy", "--only-keep-debug", "program", "program.debug"},
		},
	}
	return filepath.Join(recipe.Dir(t), "program.debug")
}

func decode(t testing.TB, text string) []byte {
	t.Helper()
	id, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// idOf returns the build id of a file.
func idOf(t testing.TB, path string) ([]byte, error) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	return Of(f, st.Size())
}

func TestTheBuildIDIsTheOneGivenToTheLinker(t *testing.T) {
	for name, path := range map[string]string{
		"a program":                 program(t, "0x"+wanted),
		"a library":                 program(t, "0x"+wanted, "-shared", "-fPIC"),
		"a file without segments":   program(t, "0x"+wanted, "-r", "-nostdlib"),
		"a separate debug file":     debugFile(t),
		"a program without a libc":  program(t, "0x"+wanted, "-static", "-nostdlib", "-Wl,-e,main"),
		"with notes of other kinds": program(t, "0x"+wanted, "-fcf-protection=full"),
	} {
		if id, err := idOf(t, path); err != nil || !bytes.Equal(id, decode(t, wanted)) {
			t.Errorf("%s: %x, %v; want %s", name, id, err, wanted)
		}
	}
}

func TestAFileWithoutABuildIDIsAnError(t *testing.T) {
	if id, err := idOf(t, program(t, "none")); !errors.Is(err, ErrNone) {
		t.Errorf("linked without one: %x, %v; want ErrNone", id, err)
	}
	if id, err := idOf(t, "note_test.go"); !errors.Is(err, elfimage.ErrNotELF) {
		t.Errorf("source text: %x, %v; want ErrNotELF", id, err)
	}
}

func TestZerosAtTheEndOfABuildIDDoNotCount(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want bool
	}{
		{"\x01\x02", "\x01\x02", true},
		{"\x01\x02", "\x01\x02\x00\x00", true},
		{"\x01\x02\x00", "\x01\x02", true},
		{"\x01\x02", "\x01\x03", false},
		{"\x01\x02", "\x01", false},
		{"\x01\x02", "\x00\x01\x02", false},
		{"", "", false},
		{"\x00", "\x00", false},
	} {
		if got := Equal([]byte(test.a), []byte(test.b)); got != test.want {
			t.Errorf("Equal(%x, %x) = %t", test.a, test.b, got)
		}
	}
}

func FuzzNotes(f *testing.F) {
	f.Add([]byte("\x04\x00\x00\x00\x04\x00\x00\x00\x03\x00\x00\x00GNU\x00abcd"))
	f.Add([]byte("\x05\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00Linux\x00\x00\x00x\x00\x00\x00" +
		"\x04\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00GNU\x00ab"))
	f.Fuzz(func(t *testing.T, notes []byte) {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			if id := find(notes, order); id != nil && (len(id) == 0 || len(id) > maxID || !bytes.Contains(notes, id)) {
				t.Errorf("%x is no build id of the notes", id)
			}
		}
	})
}
