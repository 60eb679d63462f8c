package streams

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// leastFiles is how many more files a command must be able to open. With too few, the Go
// runtime itself fails and prints its goroutines on standard error.
const leastFiles = 12

// CheckFiles returns an error if fewer files can be opened than any command needs.
func CheckFiles() error {
	for range leastFiles {
		fd, err := unix.FcntlInt(uintptr(unix.Stderr), unix.F_DUPFD_CLOEXEC, 0)
		if errors.Is(err, unix.EMFILE) {
			return fmt.Errorf("%w: less than %d more can be opened: raise the limit (ulimit -n)", err, leastFiles)
		}
		if err != nil { // standard error is closed
			return nil
		}
		defer unix.Close(fd)
	}
	return nil
}
