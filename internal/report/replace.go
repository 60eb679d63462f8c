package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// replace has write fill a new file and puts that in place of path in one
// step. Until it is complete the file has no name (open(2), O_TMPFILE), so that
// not even a kill leaves half a file; where the file system can't do that it is
// a hidden file beside path.
func replace(path string, write func(io.Writer) error) error {
	path, file, err := begin(path)
	switch {
	case err != nil:
		return err
	case file == nil:
		return overwrite(path, write)
	}
	defer file.remove()
	if err := fill(file.File, write); err != nil {
		return err
	}
	return file.rename(path)
}

// checkPlace tells why replace could not write to path.
func checkPlace(path string) error {
	path, file, err := begin(path)
	switch {
	case err != nil:
		return err
	case file == nil: // opening a pipe could wait for who reads it
		if err := unix.Access(path, unix.W_OK); err != nil {
			return &fs.PathError{Op: "write", Path: path, Err: err}
		}
		return nil
	}
	file.remove()
	return nil
}

// begin makes the file that is to be put in place of path, which it returns without
// links: a link stays a link, and what it leads to is replaced. There is no such
// file if path can only be overwritten.
func begin(path string) (place string, file *temporary, err error) {
	mode := fs.FileMode(0o666)
	if old, err := os.Stat(path); err == nil {
		switch {
		case old.IsDir():
			return "", nil, &fs.PathError{Op: "write", Path: path, Err: unix.EISDIR}
		case !old.Mode().IsRegular():
			return path, nil, nil
		}
		mode = old.Mode().Perm()
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return "", nil, err
		}
	}
	if file, err = unnamed(filepath.Dir(path), mode); err != nil {
		file, err = hidden(path, mode)
	}
	return path, file, err
}

// overwrite is for what can't be replaced: a pipe, a terminal, a device.
func overwrite(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(buffered(f, write), f.Close())
}

func buffered(f *os.File, write func(io.Writer) error) error {
	w := bufio.NewWriterSize(f, 1<<16)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// fill writes and syncs f: some file systems tell only then that they are full.
func fill(f *os.File, write func(io.Writer) error) error {
	if err := buffered(f, write); err != nil {
		return err
	}
	return f.Sync()
}

// temporary is the file while it is not in its place. Its name is empty while
// it has none in the file system.
type temporary struct {
	*os.File
	name string
}

func unnamed(dir string, mode fs.FileMode) (*temporary, error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, uint32(mode))
	if err != nil {
		return nil, &fs.PathError{Op: "open unnamed file in", Path: dir, Err: err}
	}
	return &temporary{File: os.NewFile(uintptr(fd), dir)}, nil
}

func hidden(path string, mode fs.FileMode) (*temporary, error) {
	name := hiddenName(path)
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: errors.Unwrap(err)}
	}
	return &temporary{f, name}, nil
}

// hiddenName is different for every process, so that two that write the same
// file don't meet; the last to finish wins.
func hiddenName(path string) string {
	dir, base := filepath.Split(path)
	return filepath.Join(dir, "."+base+"."+strconv.Itoa(os.Getpid()))
}

// rename gives the file its name. linkat(2) can't replace a file, so an
// unnamed one goes by way of a hidden name.
func (t *temporary) rename(path string) error {
	if t.name == "" {
		name := hiddenName(path)
		self := fmt.Sprintf("/proc/self/fd/%d", t.Fd())
		if err := unix.Linkat(unix.AT_FDCWD, self, unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW); err != nil {
			return &fs.PathError{Op: "link", Path: name, Err: err}
		}
		t.name = name
	}
	if err := os.Rename(t.name, path); err != nil {
		return err
	}
	t.name = ""
	return nil
}

// remove closes the file and takes away what has not got its place.
func (t *temporary) remove() {
	t.Close()
	if t.name != "" {
		os.Remove(t.name)
	}
}
