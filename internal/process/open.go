package process

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

var (
	errReplaced   = errors.New("another file has this name now")
	errNotRegular = errors.New("not a regular file")
)

// openRegular opens a regular file for reading and nothing else: the name is
// first looked up without opening (O_PATH), because opening a device or a
// FIFO can block or have effects, and only a regular file is then opened,
// through the descriptor, so that it is the one that was looked at. O_NONBLOCK
// keeps a lease on the file (fcntl(2), F_SETLEASE) from holding us up.
func openRegular(name string) (fd int, st unix.Stat_t, err error) {
	handle, err := open(unix.AT_FDCWD, name, unix.O_PATH)
	if err != nil {
		return -1, st, err
	}
	return openHandle(handle)
}

// openHandle opens what an O_PATH descriptor stands for, if it is a regular
// file, and closes the descriptor.
func openHandle(handle int) (fd int, st unix.Stat_t, err error) {
	defer unix.Close(handle)
	if err := unix.Fstat(handle, &st); err != nil {
		return -1, st, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return -1, st, errNotRegular
	}
	fd, err = open(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(handle), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	return fd, st, err
}

// openBeneath opens a regular file the way a process with that root directory
// sees it: no link, absolute or with dots, leads out of it, and no magic link
// of a /proc that is mounted there is followed. The file itself may not be a
// link, for the kernel's paths of mapped files are resolved.
func openBeneath(root, name string) (fd int, st unix.Stat_t, err error) {
	dir, err := open(unix.AT_FDCWD, root, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return -1, st, err
	}
	defer unix.Close(dir)
	handle, err := lookupBeneath(dir, name)
	if err != nil {
		return -1, st, err
	}
	return openHandle(handle)
}

// lookupBeneath returns an O_PATH descriptor.
func lookupBeneath(dir int, name string) (int, error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS,
	}
	// EAGAIN says that a rename ran beside a lookup of "..": openat2(2).
	for range 3 {
		fd, err := unix.Openat2(dir, name, &how)
		switch err {
		case unix.EAGAIN, unix.EINTR:
			continue
		case unix.ENOSYS, unix.EPERM: // before Linux 5.6, or a seccomp filter
			return walkBeneath(dir, name)
		}
		return fd, err
	}
	return -1, unix.EAGAIN
}

// walkBeneath does without openat2(2) and follows no link at all.
func walkBeneath(dir int, name string) (int, error) {
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

// notFound tells whether an error only says that a file or process is gone.
func notFound(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, unix.ESRCH)
}
