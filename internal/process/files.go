package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/host/openfile"
)

// fileSet is the budget of open files. Mapped files are held open so that they outlive the
// process and their name. When limit files are open, the least recently used one is closed, and
// reopened by its name when it is read again. A file whose name no longer leads to it is never
// closed to make room.
//
// Its methods and those of its files may be called from several goroutines, as io.ReaderAt
// requires.
type fileSet struct {
	mu    sync.Mutex
	limit int
	clock uint64 // counts uses
	held  []*file
	ended atomic.Bool // see Table.EndReads
}

// file is a regular file that stays readable.
type file struct {
	set   *fileSet
	roots []string // directories beneath which it can be reopened
	name  string   // its path there
	id    fileID   // from fstat(2)
	size  int64
	mtime unix.Timespec
	grows bool // it is being written: a different size does not mean a different file

	nameless bool // it had no name when it was opened

	// The rest belongs to set.mu.
	fixed bool // its name no longer leads to it: never closed to make room
	open  *os.File
	used  uint64
	at    int // index in set.held while open
}

// fileID is the identity that a file keeps while it exists.
type fileID struct {
	major, minor uint32
	inode        uint64
}

// errEnded is returned by reads after the run has ended.
var errEnded = fmt.Errorf("the run has ended: %w", context.Canceled)

// errBudget is returned when a file can't be held open.
var errBudget = errors.New("too many deleted or replaced files are held open")

// add holds f open through fd; st is fd's fstat(2). The caller has set f's name, roots and
// grows. The set owns fd from here on, even if add returns an error.
func (s *fileSet) add(fd int, st *unix.Stat_t, f *file) (*file, error) {
	f.set, f.id, f.size, f.mtime = s, idOf(st), st.Size, st.Mtim
	f.nameless = st.Nlink == 0
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.hold(f, fd); err != nil {
		return nil, err
	}
	return f, nil
}

func idOf(st *unix.Stat_t) fileID {
	return fileID{major: unix.Major(st.Dev), minor: unix.Minor(st.Dev), inode: st.Ino}
}

// hold makes room for f and adds it with the descriptor fd. The caller holds s.mu.
func (s *fileSet) hold(f *file, fd int) error {
	for len(s.held) >= s.limit {
		oldest := s.oldest()
		if oldest == nil {
			unix.Close(fd)
			return fmt.Errorf("%w (%d)", errBudget, len(s.held))
		}
		again, err := oldest.reopen()
		if err != nil {
			oldest.fixed = true
			continue
		}
		unix.Close(again)
		s.release(oldest)
	}
	s.clock++
	f.open, f.used, f.at = os.NewFile(uintptr(fd), "object"), s.clock, len(s.held)
	s.held = append(s.held, f)
	return nil
}

// oldest returns the least recently used file that may be closed, or nil. The caller holds
// s.mu.
func (s *fileSet) oldest() (oldest *file) {
	for _, f := range s.held {
		if !f.fixed && (oldest == nil || f.used < oldest.used) {
			oldest = f
		}
	}
	return oldest
}

// release closes an open file. The caller holds s.mu.
func (s *fileSet) release(f *file) {
	f.open.Close()
	f.open = nil
	last := len(s.held) - 1
	s.held[f.at] = s.held[last]
	s.held[f.at].at = f.at
	s.held[last] = nil
	s.held = s.held[:last]
}

// count returns the number of open files.
func (s *fileSet) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held)
}

// closeAll closes all files permanently.
func (s *fileSet) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = 0
	for len(s.held) > 0 {
		s.release(s.held[len(s.held)-1])
	}
}

// close closes the file and makes room for others.
func (f *file) close() {
	f.set.mu.Lock()
	defer f.set.mu.Unlock()
	if f.open != nil {
		f.set.release(f)
	}
}

// ReadAt implements io.ReaderAt. It reopens the file if it was closed to make room.
func (f *file) ReadAt(p []byte, offset int64) (int, error) {
	for {
		if f.set.ended.Load() {
			return 0, errEnded
		}
		open, err := f.opened()
		if err != nil {
			return 0, err
		}
		n, err := open.ReadAt(p, offset)
		if errors.Is(err, os.ErrClosed) {
			continue // closed to make room between the two calls
		}
		return n, err
	}
}

// stat returns the file's current size in bytes and the time of its last write.
func (f *file) stat() (size int64, modified time.Time, err error) {
	open, err := f.opened()
	if err != nil {
		return 0, modified, err
	}
	info, err := open.Stat()
	if err != nil {
		return 0, modified, err
	}
	return info.Size(), info.ModTime(), nil
}

// SyscallConn gives access to the descriptor, like that of an *os.File.
func (f *file) SyscallConn() (syscall.RawConn, error) {
	open, err := f.opened()
	if err != nil {
		return nil, err
	}
	return open.SyscallConn()
}

// opened returns the open file.
func (f *file) opened() (*os.File, error) {
	f.set.mu.Lock()
	defer f.set.mu.Unlock()
	if f.open != nil {
		f.set.clock++
		f.used = f.set.clock
		return f.open, nil
	}
	fd, err := f.reopen()
	if err != nil {
		return nil, fmt.Errorf("open %s again: %w", f.name, err)
	}
	if err := f.set.hold(f, fd); err != nil {
		return nil, err
	}
	return f.open, nil
}

// reopen opens the file by its name.
func (f *file) reopen() (int, error) {
	last := os.ErrNotExist
	for _, root := range f.roots {
		fd, st, err := openfile.Beneath(root, f.name, openfile.NoLink)
		if err != nil {
			last = err
			continue
		}
		if idOf(&st) == f.id && (f.grows || st.Size == f.size && st.Mtim == f.mtime) {
			return fd, nil
		}
		unix.Close(fd)
		last = errReplaced
	}
	return -1, last
}
