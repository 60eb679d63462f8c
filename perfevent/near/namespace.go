package near

import (
	"bytes"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// OwnTID returns the id that the thread has in its own pid namespace, or fails. It takes as long as a
// few reads of memory, and is not remembered: others may have had the thread's id before.
func (v *Visit) OwnTID() (int, error) {
	if v.clock.now() > v.deadline {
		return 0, ErrTime
	}
	path := append(strconv.AppendInt(append(v.path[:0], "/proc/"...), int64(v.tid), 10), "/status\x00"...)
	fd, _, errno := unix.RawSyscall6(unix.SYS_OPENAT, ^uintptr(0), uintptr(unsafe.Pointer(unsafe.SliceData(path))), unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0)
	if errno != 0 {
		return 0, ErrMemory
	}
	v.pageAt = 0
	n, _, errno := unix.RawSyscall(unix.SYS_READ, fd, uintptr(unsafe.Pointer(&v.page)), pageSize)
	_, _, _ = unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
	if errno != 0 || n > pageSize {
		return 0, ErrMemory
	}
	own := ownTID(v.page[:n])
	if own == 0 {
		return 0, ErrMemory
	}
	return own, nil
}

// ownTID is the last of the ids in a thread's /proc/TID/status, each of which is that in the next
// inner pid namespace; 0 if there are none.
func ownTID(status []byte) (own int) {
	_, ids, _ := bytes.Cut(status, []byte("\nNSpid:\t"))
	for _, c := range ids {
		switch {
		case c == '\n':
			return own
		case c == '\t':
			own = 0
		case c < '0' || c > '9' || own > maxTID:
			return 0
		default:
			own = own*10 + int(c-'0')
		}
	}
	return 0
}

// maxTID is more than Linux has threads.
const maxTID = 1 << 22
