package interptest

import (
	"os"
	"testing"

	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// Module returns the file at path as a module that no process has mapped. The file stays open
// until the test ends.
func Module(t testing.TB, path string) *interp.Module {
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
	image, err := elfimage.New(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	return &interp.Module{Path: path, Image: image}
}
