package allocator

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/ringtap/ringtap/internal/library"
	"github.com/ringtap/ringtap/internal/process"
)

// process looks at what a process has mapped to run, only at its program and at files
// with the names of allocators if it is told so. What is wrong with the program is why.
func (f *finder) process(pid int, knownOnly bool) (why, err error) {
	paths, err := f.mapped(pid)
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
		if knownOnly && path != program && !looksKnown(path) {
			continue
		}
		err := f.file(path, pid)
		if errors.Is(err, fs.ErrNotExist) {
			// Deleted, or of a process in a chroot(2), where paths begin outside of it.
			// By its base name it is found through the mapping.
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

// errNoProgram is why a kernel thread, or a process that has ended, has no allocator.
var errNoProgram = errors.New("it is a kernel thread: -k shows kernel memory")

// everywhere looks at the programs that run, which may have an allocator of their own,
// and at the files with the names of allocators that they have mapped: those of
// containers are not the host's.
func (f *finder) everywhere() {
	pids, _ := f.host.Processes() // as far as they can be listed
	for _, pid := range pids {
		// A process may be gone by now.
		_, _ = f.process(pid, true)
	}
}

// mapped returns the files that a process has mapped to run, each once, as
// /proc/PID/maps has them.
func (f *finder) mapped(pid int) (paths []string, err error) {
	seen := make(map[string]bool)
	err = f.host.Areas(pid, func(a *process.Area) bool {
		if path := string(a.Path); a.Executable && strings.HasPrefix(path, "/") && !seen[path] {
			seen[path] = true
			paths = append(paths, path)
		}
		return true
	})
	return paths, err
}

// mappedAfterExec waits for a program to be mapped. In the middle of execve(2) a
// process has nothing mapped, though who started it knows of it already: its old
// memory is gone and its close-on-exec files are closed first (fs/exec.c,
// begin_new_exec). What never maps anything has no program either.
func (f *finder) mappedAfterExec(pid int) (paths []string, err error) {
	for end := time.Now().Add(execTakes); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if paths, err = f.mapped(pid); err != nil || len(paths) > 0 {
			return paths, err
		}
		if _, err := f.host.Link(pid, "exe"); err != nil {
			return nil, nil
		}
	}
	return nil, nil
}

// execTakes is how long a program may take to be mapped.
const execTakes = time.Second
