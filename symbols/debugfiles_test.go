package symbols

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/host/openfile"
)

func TestDebugFilesAreRegularFilesBeneathTheirRoot(t *testing.T) {
	outside, root := t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(outside, "out.debug"), filepath.Join(root, "in.debug")} {
		if err := os.WriteFile(path, []byte("debug"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(outside, "out.debug"), filepath.Join(root, "out.debug")); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(root, "fifo.debug"), 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		root, path string
		want       error
	}{
		{"", filepath.Join(root, "in.debug"), nil},
		{"", filepath.Join(root, "out.debug"), nil},
		{"", filepath.Join(root, "fifo.debug"), openfile.ErrNotRegular},
		{"", "/dev/null", openfile.ErrNotRegular},
		{root, "/in.debug", nil},
		{root, "/../in.debug", nil},
		{root, "/out.debug", os.ErrNotExist},
		{root, "/fifo.debug", openfile.ErrNotRegular},
	}
	for _, tt := range tests {
		file, size, err := DebugFiles(tt.root)(tt.path)
		if !errors.Is(err, tt.want) {
			t.Errorf("%q %s: %v", tt.root, tt.path, err)
		}
		if err == nil {
			if size != 5 {
				t.Errorf("%q %s: %d bytes", tt.root, tt.path, size)
			}
			if err := file.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
