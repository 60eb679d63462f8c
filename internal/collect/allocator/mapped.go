package allocator

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/ringtap/ringtap/internal/probe/library"
	"github.com/ringtap/ringtap/internal/text/match"
)

// process searches the code that a process has mapped. With knownOnly, it searches only the program
// and files with names of allocators. why says what is wrong with the program.
func (f *finder) process(pid int, knownOnly bool) (why, err error) {
	paths, err := f.host.MappedCode(pid)
	if len(paths) == 0 && !knownOnly {
		paths, err = f.mappedAfterExec(pid)
	}
	if err != nil {
		return nil, &library.ProcessError{PID: pid, Err: err}
	}
	if len(paths) == 0 {
		return errNoProgram, nil
	}
	program, _ := f.host.Link(pid, "exe")
	for _, path := range paths {
		if knownOnly && path != program && !match.IsAllocator(filepath.Base(path)) {
			continue
		}
		err := f.file(path, pid)
		if errors.Is(err, fs.ErrNotExist) {
			// The file was deleted, or the process is in a chroot(2) and the path is from outside.
			// The base name finds it through the mapping.
			err = f.file(filepath.Base(strings.TrimSuffix(path, " (deleted)")), pid)
		}
		if err != nil {
			f.logger.Debug("no allocator", "file", path, "process", pid, "error", err)
		}
		if path == program {
			why = err
		}
	}
	if !knownOnly {
		f.loaded(why, pid)
	}
	return why, nil
}

// errNoProgram says why a kernel thread, or a process that has ended, has no allocator.
var errNoProgram = errors.New("it is a kernel thread: -k shows kernel memory")

// everywhere searches the programs that run, because they may contain an allocator. It also
// searches files that they have mapped and that have names of allocators: a container's files are
// not the host's.
func (f *finder) everywhere() {
	pids, _ := f.host.Processes() // some of them if not all can be listed
	for _, pid := range pids {
		// A process may be gone by now.
		_, _ = f.process(pid, true)
	}
}

// mappedAfterExec waits until a process has mapped its program. In the middle of execve(2) the old
// memory is gone and nothing is mapped: the kernel closes close-on-exec files first (fs/exec.c,
// begin_new_exec). Processes without a program never map anything.
func (f *finder) mappedAfterExec(pid int) (paths []string, err error) {
	for end := time.Now().Add(execTakes); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if paths, err = f.host.MappedCode(pid); err != nil || len(paths) > 0 {
			return paths, err
		}
		if _, err := f.host.Link(pid, "exe"); err != nil {
			return nil, nil
		}
	}
	return nil, nil
}

// execTakes is how long a process may take to map its program.
const execTakes = time.Second
