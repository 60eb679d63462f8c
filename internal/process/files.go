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

	"github.com/ringtap/ringtap/internal/openfile"
)

// fileSet is the budget of open files. Files that a process has mapped are
// held open so that they outlive the process and their name. When limit are
// open, the one that was not used for longest is closed, and opened again by
// its name when it is read next; one whose name does not lead to it any more
// is not closed for others.
//
// Its methods and those of its files may be called from several goroutines,
// as io.ReaderAt demands.
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
	roots []string // directories beneath which it can be opened again
	name  string   // its path there
	id    fileID   // as fstat(2) tells it
	size  int64
	mtime unix.Timespec
	grows bool // it is written to: another size is no other file

	nameless bool // it had no name when it was opened

	// The rest belongs to set.mu.
	fixed bool // its name does not lead to it: never closed to make room
	open  *os.File
	used  uint64
	at    int // index in set.held while open
}

// fileID is the identity that a file keeps while it exists.
type fileID struct {
	major, minor uint32
	inode        uint64
}

// errEnded says that a run does not wait for a file any more.
var errEnded = fmt.Errorf("the run has ended: %w", context.Canceled)

// errBudget says that a file could not be held open.
var errBudget = errors.New("too many deleted or replaced files are held open")

// add holds f open by a descriptor of its file, of which st is the fstat(2).
// The caller has filled in name, roots and grows. The set owns fd from
// here on, also when it returns an error.
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

// hold makes room and enters an open file. The caller has locked the set.
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

// oldest returns the file that was not used for longest and may be closed, nil
// if there is none. The caller has locked the set.
func (s *fileSet) oldest() (oldest *file) {
	for _, f := range s.held {
		if !f.fixed && (oldest == nil || f.used < oldest.used) {
			oldest = f
		}
	}
	return oldest
}

// release closes a file that is open. The caller has locked the set.
func (s *fileSet) release(f *file) {
	f.open.Close()
	f.open = nil
	last := len(s.held) - 1
	s.held[f.at] = s.held[last]
	s.held[f.at].at = f.at
	s.held[last] = nil
	s.held = s.held[:last]
}

// count is the number of files that are open.
func (s *fileSet) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.held)
}

// closeAll closes all files for good.
func (s *fileSet) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = 0
	for len(s.held) > 0 {
		s.release(s.held[len(s.held)-1])
	}
}

// close gives the file's place to others.
func (f *file) close() {
	f.set.mu.Lock()
	defer f.set.mu.Unlock()
	if f.open != nil {
		f.set.release(f)
	}
}

// ReadAt implements io.ReaderAt. It opens the file again if it had to make
// room for others.
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
			continue // made room between the two calls
		}
		return n, err
	}
}

// stat returns what fstat(2) tells of the file now: its size in bytes and when it was written last.
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

// SyscallConn has readers look at the descriptor, as that of an *os.File.
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
