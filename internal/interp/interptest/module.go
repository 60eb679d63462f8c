package interptest

import (
	"os"
	"testing"

	"github.com/ringtap/ringtap/internal/elfimage"
	"github.com/ringtap/ringtap/internal/interp"
)

// Module is the module of a file that no process has mapped.
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
