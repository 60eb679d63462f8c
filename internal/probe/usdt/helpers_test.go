package usdt

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// compile builds a program of testdata and returns its path, which is shared.
func compile(t testing.TB, source string, flags ...string) string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.[ch]")
	must(t, err)
	command := append(append([]string{"gcc"}, flags...), "-o", "prog", source)
	return compiled.Program(t, compiled.Sources(t, files...), command...)
}

// image opens a file for the time of a test.
func image(t testing.TB, path string) *elfimage.Image {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	must(t, err)
	img, err := elfimage.New(f, info.Size())
	must(t, err)
	return img
}

// named returns the probes of a name.
func named(probes []Probe, name string) []Probe {
	var list []Probe
	for _, p := range probes {
		if p.String() == name {
			list = append(list, p)
		}
	}
	return list
}

// kinds of programs, which differ in where segments and addresses lie.
var programs = []struct {
	name  string
	flags []string
}{
	{"position independent", []string{"-O2", "-pie", "-fPIE"}},
	{"at a fixed address", []string{"-O0", "-no-pie"}},
	{"static", []string{"-O2", "-static"}},
	{"segments apart from their place in the file", []string{"-O2", "-Wl,-z,separate-code", "-Wl,-z,max-page-size=0x10000"}},
}
