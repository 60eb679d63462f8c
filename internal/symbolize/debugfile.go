package symbolize

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/symbols"
)

// openDebugFile opens a separate debug file of the host. Whether it belongs to
// the object is for package symbols to check, by build id or checksum. Only
// regular files are opened, for the path may be one that a target chose: a
// device is not even touched, and a file that takes the place of the one that
// was looked at neither blocks nor counts.
func openDebugFile(path string) (symbols.ReaderAtCloser, int64, error) {
	if err := regular(os.Stat(path)); err != nil {
		return nil, 0, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err := regular(info, err); err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// regular turns what stat(2) found into an error unless it is a regular file.
func regular(info os.FileInfo, err error) error {
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", info.Name())
	}
	return err
}
