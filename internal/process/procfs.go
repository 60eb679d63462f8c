package process

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// readSize is the size in bytes of the one buffer for all files of /proc. It holds the longest
// line that the kernel can write there: a path of PATH_MAX bytes, each escaped to four.
const readSize = 64 << 10

// procfs reads the files of a Host through one buffer. It does not use package os, because a
// snapshot opens thousands of files for one read each: no file object, no finalizer.
type procfs struct {
	Host
	buf []byte
}

func newProcfs(host Host) *procfs {
	return &procfs{Host: host, buf: make([]byte, readSize)}
}

// read returns the content of a small file of a process, cut at readSize bytes. It is valid
// until the next method call on fs.
func (fs *procfs) read(pid int, name string) ([]byte, error) {
	path := fs.Path(pid, name)
	fd, err := open(unix.AT_FDCWD, path, unix.O_RDONLY)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	filled := 0
	for filled < len(fs.buf) {
		n, err := read(fd, fs.buf[filled:])
		if err != nil {
			return nil, &os.PathError{Op: "read", Path: path, Err: err}
		}
		if n == 0 {
			break
		}
		filled += n
	}
	return fs.buf[:filled], nil
}

// lines calls each with every line of the file at path, without its newline, until each returns
// false. It needs one buffer, whatever the file's length; lines that do not fit are skipped. A
// line is valid until each returns.
func (fs *procfs) lines(path string, each func(line []byte) bool) error {
	fd, err := open(unix.AT_FDCWD, path, unix.O_RDONLY)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	filled, tooLong := 0, false
	for {
		n, err := read(fd, fs.buf[filled:])
		if err != nil {
			return &os.PathError{Op: "read", Path: path, Err: err}
		}
		if n == 0 {
			break
		}
		filled += n
		rest := fs.buf[:filled]
		for {
			line, after, found := bytes.Cut(rest, newline)
			if !found {
				break
			}
			if !tooLong && !each(line) {
				return nil
			}
			rest, tooLong = after, false
		}
		filled = copy(fs.buf, rest)
		if filled == len(fs.buf) {
			filled, tooLong = 0, true
		}
	}
	if filled > 0 && !tooLong {
		each(fs.buf[:filled])
	}
	return nil
}

var newline = []byte{'\n'}

// open is openat(2) with close-on-exec, restarted when a signal interrupts it.
func open(dir int, path string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, path, flags|unix.O_CLOEXEC, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// read is read(2), restarted when a signal interrupts it.
func read(fd int, p []byte) (int, error) {
	for {
		n, err := unix.Read(fd, p)
		if err != unix.EINTR {
			return n, err
		}
	}
}
