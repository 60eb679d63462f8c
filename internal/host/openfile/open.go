package openfile

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/host/proc"
)

// ErrNotRegular is returned when a name leads to a directory, a device, a FIFO or a socket.
var ErrNotRegular = errors.New("not a regular file")

// Links says what to do if the last part of a name is a symbolic link. Links before the last
// part are always followed.
type Links bool

const (
	NoLink Links = false // return ErrNotRegular, for names already resolved by the kernel
	Follow Links = true
)

// Regular opens a regular file for reading and refuses everything else. Opening a device or a
// FIFO can block or have side effects, so the name is first looked up without opening (O_PATH).
// A regular file is then opened through that descriptor, so that it is the file that was
// checked. O_NONBLOCK keeps a lease on the file (fcntl(2), F_SETLEASE) from blocking us.
//
// The caller closes fd. st is its fstat(2); it is also set if the file is not regular.
func Regular(name string) (fd int, st unix.Stat_t, err error) {
	handle, err := open(unix.AT_FDCWD, name, unix.O_PATH)
	if err != nil {
		return -1, st, err
	}
	return openHandle(handle)
}

// Beneath opens a regular file as a process with that root directory sees it. No link, absolute
// or with dots, leads out of it, and magic links of a /proc mounted there are not followed.
// Before Linux 5.6 any link in the name is an error. Otherwise it is like Regular.
func Beneath(root, name string, last Links) (fd int, st unix.Stat_t, err error) {
	dir, err := open(unix.AT_FDCWD, root, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return -1, st, err
	}
	defer unix.Close(dir)
	handle, err := lookup(dir, name, last)
	if err != nil {
		return -1, st, err
	}
	return openHandle(handle)
}

// Directory opens a directory for reading as a process with that root directory sees it, like
// Beneath for files. The caller closes fd.
func Directory(root, name string) (fd int, err error) {
	dir, err := open(unix.AT_FDCWD, root, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return -1, err
	}
	defer unix.Close(dir)
	handle, err := lookup(dir, name, Follow)
	if err != nil {
		return -1, err
	}
	defer unix.Close(handle)
	return open(unix.AT_FDCWD, proc.Live.Descriptor(handle), unix.O_RDONLY|unix.O_DIRECTORY)
}

// openHandle opens the file of an O_PATH descriptor if it is regular. It closes the descriptor.
func openHandle(handle int) (fd int, st unix.Stat_t, err error) {
	defer unix.Close(handle)
	if err := unix.Fstat(handle, &st); err != nil {
		return -1, st, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return -1, st, ErrNotRegular
	}
	fd, err = open(unix.AT_FDCWD, proc.Live.Descriptor(handle), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	return fd, st, err
}

// lookup returns an O_PATH descriptor of a name beneath dir.
func lookup(dir int, name string, last Links) (int, error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	}
	if last == NoLink {
		how.Flags |= unix.O_NOFOLLOW
	}
	// EAGAIN means that a rename ran during a lookup of "..": openat2(2).
	for range 3 {
		fd, err := unix.Openat2(dir, name, &how)
		switch err {
		case unix.EAGAIN, unix.EINTR:
			continue
		case unix.ENOSYS, unix.EPERM: // before Linux 5.6, or a seccomp filter
			return walk(dir, name)
		}
		return fd, err
	}
	return -1, unix.EAGAIN
}

// walk is lookup without openat2(2). It follows no links at all.
func walk(dir int, name string) (int, error) {
	at := dir
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '/' })
	if len(parts) == 0 {
		return -1, unix.EISDIR
	}
	for i, part := range parts {
		flags := unix.O_PATH | unix.O_NOFOLLOW
		if i < len(parts)-1 {
			flags |= unix.O_DIRECTORY
		}
		next, err := -1, error(unix.ELOOP)
		if part != ".." {
			next, err = open(at, part, flags)
		}
		if at != dir {
			unix.Close(at)
		}
		if err != nil {
			return -1, err
		}
		at = next
	}
	return at, nil
}

// open is openat(2) with close-on-exec. It restarts if a signal interrupts it.
func open(dir int, path string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, path, flags|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}
