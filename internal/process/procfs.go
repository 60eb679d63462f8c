package process

import (
	"bytes"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// readSize is the size of the one buffer that all files of /proc are read
// through. It holds the longest line that the kernel can write there: a path
// of PATH_MAX bytes, each byte escaped to four.
const readSize = 64 << 10

// procfs reads the files of a mounted /proc. It goes below package os because
// a snapshot opens thousands of files that live for one read: no file object,
// no finalizer, one buffer.
type procfs struct {
	root string
	buf  []byte
}

func newProcfs(root string) *procfs {
	return &procfs{root: root, buf: make([]byte, readSize)}
}

// path is the name of a file of a process, "/proc/1/maps".
func (fs *procfs) path(pid int, name string) string {
	return fs.root + "/" + strconv.Itoa(pid) + "/" + name
}

// read returns the content of a small file of a process, cut at readSize
// bytes. It is valid until the next call of a method of fs.
func (fs *procfs) read(pid int, name string) ([]byte, error) {
	path := fs.path(pid, name)
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

// lines calls each with every line of the file at path, without its end,
// until each returns false. It holds one buffer however long the file is; a
// line that does not fit is left out. A line is valid until each returns.
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

// pids returns the processes that /proc lists.
func (fs *procfs) pids() ([]int, error) {
	dir, err := os.Open(fs.root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return numbers(dir)
}

// threads returns the threads of a process.
func (fs *procfs) threads(pid int) ([]int, error) {
	dir, err := os.Open(fs.path(pid, "task"))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return numbers(dir)
}

// numbers returns the entries of a directory that are process numbers.
func numbers(dir *os.File) ([]int, error) {
	var list []int
	for {
		names, err := dir.Readdirnames(1024)
		for _, name := range names {
			if pid, err := strconv.Atoi(name); err == nil && pid > 0 && pid <= maxPID {
				list = append(list, pid)
			}
		}
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, err
		}
	}
}

// exists tells whether a process is there, also if only as a zombie.
func (fs *procfs) exists(pid int) bool {
	return unix.Access(fs.root+"/"+strconv.Itoa(pid), unix.F_OK) == nil
}

// inode returns the inode number that a magic link of a process leads to
// ("ns/mnt"), or 0 if it cannot be read.
func (fs *procfs) inode(pid, name string) uint64 {
	var st unix.Stat_t
	if err := unix.Stat(fs.root+"/"+pid+"/"+name, &st); err != nil {
		return 0
	}
	return st.Ino
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

// read is read(2), restarted when a signal interrupts it.
func read(fd int, p []byte) (int, error) {
	for {
		n, err := unix.Read(fd, p)
		if err != unix.EINTR {
			return n, err
		}
	}
}
