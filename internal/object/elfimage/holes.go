package elfimage

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxExtents bounds how many pieces of a sparse file are examined.
const maxExtents = 4096

// descriptor is a reader of an open file, such as an *os.File.
type descriptor interface {
	SyscallConn() (syscall.RawConn, error)
}

// CheckHoles returns an error if more than half of the n bytes at a file offset are a hole
// (lseek(2), SEEK_DATA). A file of a few kilobytes can claim terabytes of zeros, which take
// minutes to read. No real program has such a section. It returns nil for small ranges, and for
// readers that are not files.
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

// isSparse reports whether more than half of [offset, end) is a hole. It moves the descriptor's
// own offset, which nothing else uses.
func isSparse(fd int, offset, end int64) bool {
	hole, most := int64(0), (end-offset)/2
	for range maxExtents {
		data, err := unix.Seek(fd, offset, unix.SEEK_DATA)
		if err == unix.ENXIO { // only a hole up to the end of the file
			data = end
		} else if err != nil {
			return false
		}
		hole += min(data, end) - offset
		if hole > most {
			return true
		}
		if data >= end {
			return false
		}
		offset, err = unix.Seek(fd, data, unix.SEEK_HOLE)
		if err != nil || offset >= end {
			return false
		}
	}
	return false
}
