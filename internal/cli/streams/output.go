// Package streams handles the standard streams of a command. It remembers write errors, holds
// lines back until the end, notices readers that go away, and draws a terminal's status line.
package streams

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Output is standard output. It remembers its first error, so that no command can
// fail to print and still exit with success.
type Output struct {
	io.Writer
	failed atomic.Pointer[error]
}

// Write writes b and remembers the first error.
func (o *Output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err != nil {
		o.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// Err returns the first error of Write. A closed pipe (head(1) closes it) is not an error.
func (o *Output) Err() error {
	err := o.failed.Load()
	if err == nil || errors.Is(*err, syscall.EPIPE) {
		return nil
	}
	return *err
}

// Closed takes the place of a standard output that was closed when this program started.
// Each write fails, so that a command fails only if it writes something.
type Closed struct{}

// Write always fails.
func (Closed) Write([]byte) (int, error) { return 0, errClosedOutput }

// DiscardClosed makes writes to a Closed output succeed. It is for runs that write
// their results to files.
func (o *Output) DiscardClosed() {
	if o.Writer == (Closed{}) {
		o.Writer = io.Discard
	}
}

var errClosedOutput = errors.New("standard output is closed, or is /dev/null opened for reading and writing: to discard it, use >/dev/null")

// IsClosed reports whether f was a closed descriptor when this program started (">&-").
// In place of each closed descriptor, the Go runtime opens /dev/null for reading and
// writing. A shell's >/dev/null is for writing only. Some parents discard output through
// descriptors like the runtime's, but these share one open file with standard input, or
// standard error is discarded as well.
func IsClosed(f, stderr *os.File) bool {
	return isRuntimesNull(f) && !isRuntimesNull(stderr) && !sameDescription(f, os.Stdin)
}

func isRuntimesNull(f *os.File) bool {
	var stat unix.Stat_t
	if unix.Fstat(int(f.Fd()), &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFCHR || stat.Rdev != unix.Mkdev(1, 3) {
		return false
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR && flags&unix.O_APPEND == 0
}

// sameDescription reports whether two descriptors come from one open(2). On a kernel
// without kcmp(2) it returns false.
func sameDescription(f, g *os.File) bool {
	const kcmpFile = 0 // KCMP_FILE
	pid := uintptr(os.Getpid())
	order, _, errno := unix.Syscall6(unix.SYS_KCMP, pid, pid, kcmpFile, f.Fd(), g.Fd(), 0)
	return errno == 0 && order == 0
}
