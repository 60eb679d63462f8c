package truth

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/internal/probe/library"
)

// OwnLibc makes the programs that the test starts from now on load copies of libc
// and other common libraries. A user probe belongs to an inode, so probes that
// other processes set on the system's libc do not affect these programs.
func OwnLibc(t testing.TB) {
	t.Helper()
	dir := t.TempDir()
	for _, soname := range []string{"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6"} {
		found, err := library.Find(soname, library.Options{})
		if missing := (*library.NotFoundError)(nil); errors.As(err, &missing) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		err = copyTo(filepath.Join(dir, soname), found.File)
		found.File.Close()
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("LD_LIBRARY_PATH", dir)
}

// copyTo copies the content of from to a new file at path.
func copyTo(path string, from *os.File) error {
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(to, io.NewSectionReader(from, 0, 1<<62)); err != nil {
		to.Close()
		return err
	}
	return to.Close()
}
