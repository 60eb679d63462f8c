package usdt

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/elfimage"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// compile builds a program of testdata and returns its path.
func compile(t testing.TB, source string, flags ...string) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("gcc is not installed")
	}
	program := filepath.Join(t.TempDir(), "prog")
	args := append(flags, "-o", program, filepath.Join("testdata", source))
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return program
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
