// Package streams is the standard streams of a command: output whose errors are not lost,
// lines that are held back to the end, readers that go away, and the line of a terminal that
// shows how far a run is.
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
// lose what it prints and end with success.
type Output struct {
	io.Writer
	failed atomic.Pointer[error]
}

// Write writes, and remembers the error.
func (o *Output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err != nil {
		o.failed.CompareAndSwap(nil, &err)
	}
	return n, err
}

// Err returns the first error. A reader that has seen enough (head(1)) is none.
func (o *Output) Err() error {
	err := o.failed.Load()
	if err == nil || errors.Is(*err, syscall.EPIPE) {
		return nil
	}
	return *err
}

// Closed is standard output that was closed when this program began. It fails what
// is written, and not a command that writes nothing.
type Closed struct{}

// Write fails.
func (Closed) Write([]byte) (int, error) { return 0, errClosedOutput }

// DiscardClosed lets standard output be closed: the results are in files.
func (o *Output) DiscardClosed() {
	if o.Writer == (Closed{}) {
		o.Writer = io.Discard
	}
}

var errClosedOutput = errors.New("standard output is closed, or is /dev/null opened for reading and writing: to discard it, use >/dev/null")

// IsClosed tells whether f was a closed descriptor when this program began (">&-").
// The Go runtime opens /dev/null for reading and writing in its place, in each place
// anew. A shell's >/dev/null is for writing only. Some parents discard output through
// descriptors like the runtime's: they share one, or discard standard error as well.
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

// sameDescription tells whether two descriptors came from one open(2), which kcmp(2)
// knows. A kernel without it is taken to say no.
func sameDescription(f, g *os.File) bool {
	const kcmpFile = 0 // KCMP_FILE
	pid := uintptr(os.Getpid())
	order, _, errno := unix.Syscall6(unix.SYS_KCMP, pid, pid, kcmpFile, f.Fd(), g.Fd(), 0)
	return errno == 0 && order == 0
}
