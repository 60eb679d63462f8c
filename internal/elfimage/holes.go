package elfimage

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxExtents is how many pieces of a sparse file are looked at.
const maxExtents = 4096

// descriptor is a reader over a file that is open, such as an *os.File.
type descriptor interface {
	SyscallConn() (syscall.RawConn, error)
}

// CheckHoles returns an error if more than half of n bytes at a file offset are a hole
// (lseek(2), SEEK_DATA). A file of a few kilobytes can say that it is terabytes of
// zeros. No section of a program is like that, and reading it takes minutes. Readers
// that don't know, and small ranges, have no holes.
func (m *Image) CheckHoles(off, n uint64) error {
	file, ok := m.Reader.(descriptor)
	if n <= probed || !ok || int64(off) < 0 || int64(off+n) < int64(off) {
		return nil
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return nil
	}
	sparse := false
	_ = conn.Control(func(fd uintptr) { sparse = isSparse(int(fd), int64(off), int64(off+n)) })
	if sparse {
		return fmt.Errorf("%d bytes at offset %d: the file has a hole there", n, off)
	}
	return nil
}

// isSparse tells whether more than half of [at, end) is a hole. Nobody else uses the
// descriptor's own offset.
func isSparse(fd int, at, end int64) bool {
	hole, most := int64(0), (end-at)/2
	for range maxExtents {
		data, err := unix.Seek(fd, at, unix.SEEK_DATA)
		if err == unix.ENXIO { // nothing but a hole up to the end of the file
			data = end
		} else if err != nil {
			return false
		}
		hole += min(data, end) - at
		if hole > most {
			return true
		}
		if data >= end {
			return false
		}
		at, err = unix.Seek(fd, data, unix.SEEK_HOLE)
		if err != nil || at >= end {
			return false
		}
	}
	return false
}
