package streams

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// leastFiles is how many files any command may have to open at once. Without some the
// Go runtime itself gives up, with its goroutines on standard error.
const leastFiles = 12

// CheckFiles tells whether as many files can be opened as any command needs.
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
