package symbols

import (
	"os"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/host/openfile"
)

// DebugFiles returns a function for Options.Open that opens separate debug files. If root is
// "", it opens files of this host. Else root is the root directory of a process
// ("/proc/42/root"): paths are resolved beneath it, and links cannot escape it. The File checks
// whether a debug file belongs to it. Only regular files are opened, since a target may have
// chosen the path: devices are not touched, and a FIFO does not block.
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
