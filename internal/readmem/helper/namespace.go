package helper

import (
	"bytes"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// OwnTID returns the thread's id in its own (innermost) PID namespace. That takes as long as a few
// reads of memory. The result is not cached, because another thread may have had the same id
// before.
func (v *Visit) OwnTID() (int, error) {
	if v.clock.now() > v.deadline {
		return 0, ErrTime
	}
	path := append(strconv.AppendInt(append(v.path[:0], "/proc/"...), int64(v.tid), 10), "/status\x00"...)
	fd, _, errno := unix.RawSyscall6(unix.SYS_OPENAT, ^uintptr(0), uintptr(unsafe.Pointer(unsafe.SliceData(path))), unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0)
	if errno != 0 {
		return 0, ErrMemory
	}
	v.pageAt = 0 // the file is read to v.page
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

// ownTID returns the last id in the NSpid line of a /proc/TID/status file (proc_pid_status(5)).
// It returns 0 if there is no such line, or if it is malformed.
func ownTID(status []byte) (tid int) {
	_, ids, _ := bytes.Cut(status, []byte("\nNSpid:\t"))
	for _, c := range ids {
		switch {
		case c == '\n':
			return tid
		case c == '\t':
			tid = 0
		case c < '0' || c > '9' || tid > maxTID:
			return 0
		default:
			tid = tid*10 + int(c-'0')
		}
	}
	return 0
}

// maxTID is the highest value of pid_max, which no thread's id reaches (PID_MAX_LIMIT).
const maxTID = 1 << 22
