package openfile

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/proc"
)

// ErrNotRegular says that a name leads to a directory, a device, a FIFO or a
// socket.
var ErrNotRegular = errors.New("not a regular file")

// Links says what becomes of a symbolic link that is the last part of a name.
// Those before it are always followed.
type Links bool

const (
	NoLink Links = false // ErrNotRegular, for names that the kernel has resolved already
	Follow Links = true
)

// Regular opens a regular file for reading and nothing else: the name is
// first looked up without opening (O_PATH), because opening a device or a
// FIFO can block or have effects, and only a regular file is then opened,
// through the descriptor, so that it is the one that was looked at. O_NONBLOCK
// keeps a lease on the file (fcntl(2), F_SETLEASE) from holding us up.
//
// The caller closes fd. st is its fstat(2), and is filled in as well for what
// is not a regular file.
func Regular(name string) (fd int, st unix.Stat_t, err error) {
	handle, err := open(unix.AT_FDCWD, name, unix.O_PATH)
	if err != nil {
		return -1, st, err
	}
	return openHandle(handle)
}

// Beneath opens a regular file the way a process with that root directory
// sees it: no link, absolute or with dots, leads out of it, and no magic link
// of a /proc that is mounted there is followed. Before Linux 5.6 a name with any
// link in it is an error. The rest is as for Regular.
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

// Directory opens a directory for reading the way a process with that root
// directory sees it, as Beneath does for files. The caller closes fd.
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

// openHandle opens what an O_PATH descriptor stands for, if it is a regular
// file, and closes the descriptor.
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

// lookup returns an O_PATH descriptor.
func lookup(dir int, name string, last Links) (int, error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	}
	if last == NoLink {
		how.Flags |= unix.O_NOFOLLOW
	}
	// EAGAIN says that a rename ran beside a lookup of "..": openat2(2).
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

// walk does without openat2(2) and follows no link at all.
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

// open is openat(2) with close-on-exec, restarted when a signal interrupts it.
func open(dir int, path string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, path, flags|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}
