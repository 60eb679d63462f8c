package symbols

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/openfile"
)

// DebugFiles opens separate debug files, for Options.Open: those that are installed on
// this host, or with a root directory ("/proc/42/root") those that a process with that
// root sees, whose links do not lead out of it. Whether a file belongs to the one that
// it was found for, File checks. Only regular files are opened, since a target may
// have chosen the path: a device is not even touched, and a FIFO does not block.
func DebugFiles(root string) func(path string) (ReaderAtCloser, int64, error) {
	return func(path string) (ReaderAtCloser, int64, error) {
		var fd int
		var st unix.Stat_t
		var err error
		if root == "" {
			fd, st, err = openfile.Regular(path)
		} else {
			fd, st, err = openfile.Beneath(root, path, openfile.Follow)
		}
		if err != nil {
			return nil, 0, &os.PathError{Op: "open", Path: path, Err: err}
		}
		return os.NewFile(uintptr(fd), path), st.Size, nil
	}
}
