package output

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

// replace calls write to fill a new file, which then replaces path atomically. Until it is
// complete, the file has no name (O_TMPFILE in open(2)), so that not even a kill leaves half a
// file. If the file system does not support that, it is a hidden file next to path.
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

// checkPlace returns why replace could not write to path.
func checkPlace(path string) error {
	path, file, err := begin(path)
	switch {
	case err != nil:
		return err
	case file == nil: // opening a pipe could block until there is a reader
		if err := unix.Access(path, unix.W_OK); err != nil {
			return &fs.PathError{Op: "write", Path: path, Err: err}
		}
		return nil
	}
	file.remove()
	return nil
}

// begin creates the file that will replace path. place is path with symbolic links resolved, so
// that a link remains a link and its target is replaced. file is nil if path can only be
// overwritten.
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

// overwrite writes to a path that cannot be replaced: a pipe, a terminal, a device.
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

// fill writes and syncs f, because some file systems report a full disk only then.
func fill(f *os.File, write func(io.Writer) error) error {
	if err := buffered(f, write); err != nil {
		return err
	}
	return f.Sync()
}

// temporary is a file before it replaces its path. name is "" while it has no name in the file
// system.
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

// hiddenName returns a name that differs between processes, so that two of them can write the same
// file. The last one to finish wins.
func hiddenName(path string) string {
	dir, base := filepath.Split(path)
	return filepath.Join(dir, "."+base+"."+strconv.Itoa(os.Getpid()))
}

// rename moves the file to path. linkat(2) cannot replace a file, so an unnamed file first gets a
// hidden name.
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

// remove closes the file and deletes it, unless it was renamed to its path.
func (t *temporary) remove() {
	t.Close()
	if t.name != "" {
		os.Remove(t.name)
	}
}
