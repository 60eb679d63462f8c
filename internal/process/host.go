package process

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/host/proc"
	"github.com/ringtap/ringtap/perfevent"
)

// Host is a machine as shown by proc(5). The zero Host is the machine that this program runs
// on. All code that reads processes' state uses a Host, so that tests can replace it with a
// directory tree. Several goroutines may use a Host.
type Host struct {
	// Proc is the mount point of proc(5); "" is /proc.
	Proc string
	// Machine is the machine's architecture; zero is this program's.
	Machine callchain.Arch
	// Clock is the clock of the machine's records, in nanoseconds; nil is this machine's
	// CLOCK_MONOTONIC.
	Clock func() uint64
	// Recording, unless nil, is what a recording knows of its machine. Then all files of proc(5)
	// are missing: what happens on this machine today says nothing about recorded processes.
	Recording *Recording
}

// Recording finds the files of a recorded machine.
type Recording struct {
	// Open opens the file on this machine that was mapped with the given path. buildID is empty
	// if the record has none. If isSame is false, the file is only the same if it has the
	// recorded inode. The caller closes the file.
	Open func(path string, buildID []byte) (file *os.File, isSame bool, err error)
	// Kallsyms opens the symbols of the recorded kernel, in the format of /proc/kallsyms.
	Kallsyms func() (io.ReadCloser, error)
	// Symbol returns the function that the recording itself has for an offset in a file, or for an
	// address of a process's generated code: see GeneratedCode. start is the function's.
	Symbol func(path string, offset uint64) (name string, start, size uint64, ok bool)
	// Function returns the function that was mapped with the given path, if it was one and no file: the
	// recorder maps what is not code by itself. Offsets in the mapping are source lines. It may be nil.
	Function func(path string) (RecordedFunction, bool)
}

// RecordedFunction is a function of a runtime such as Python or Java in a recording; or a word of the
// recorder's, such as "[stack switch]".
type RecordedFunction struct {
	Runtime string // "Python 3.11"; "" for a word
	File    string // source file, "" if unknown
	Name    string
}

// GeneratedCode returns the name under which recordings have a process's generated code, which is that of
// its perf map.
func GeneratedCode(pid int) string { return fmt.Sprintf("/tmp/perf-%d.map", pid) }

// clock returns the host's clock. For this machine it makes one system call and then uses Go's
// monotonic clock, which is the same.
func (h Host) clock() func() uint64 {
	if h.Clock != nil {
		return h.Clock
	}
	begin, made := perfevent.Now(), time.Now()
	return func() uint64 { return begin + uint64(time.Since(made)) }
}

// Live reports whether h is the machine that this program runs on.
func (h Host) Live() bool {
	return h.Proc == "" && h.Machine == 0 && h.Clock == nil && h.Recording == nil
}

// Arch returns the machine's architecture.
func (h Host) Arch() callchain.Arch { return cmp.Or(h.Machine, callchain.Host()) }

// Sysctl reads a value below /proc/sys: "kernel/perf_event_max_stack".
func (h Host) Sysctl(name string) (string, error) { return h.files().Sysctl(name) }

// files returns the host's proc file system.
func (h Host) files() proc.FS {
	if h.Recording != nil {
		return proc.Nowhere
	}
	return proc.FS(h.Proc)
}

// Path returns the name of a file of a process or thread: "/proc/1/maps".
func (h Host) Path(id int, name string) string { return h.files().Path(id, name) }

// ReadFile reads a file of proc(5): "locks".
func (h Host) ReadFile(name string) ([]byte, error) { return h.files().ReadFile(name) }

// Read reads a file of a process or thread: "cmdline".
func (h Host) Read(id int, name string) ([]byte, error) { return h.files().Read(id, name) }

// Link reads a link of a process or thread: "exe".
func (h Host) Link(id int, name string) (string, error) { return h.files().Link(id, name) }

// Stat reads the stat file below a directory of proc(5): "1" or "1/task/2". The error is
// a *fs.PathError if the process or thread is gone.
func (h Host) Stat(dir string) (proc.Stat, error) { return h.files().Stat(dir) }

// Kallsyms opens the kernel's symbols, for package symbols to read. The caller closes
// the file.
func (h Host) Kallsyms() (io.ReadCloser, error) {
	if h.Recording != nil {
		return h.Recording.Kallsyms()
	}
	return h.files().Kallsyms()
}

// Comm returns the name of a process or thread, as raw bytes, or "" if there is none.
func (h Host) Comm(id int) string { return h.files().Comm(id) }

// Inode returns the inode number of the target of a proc(5) link ("1/ns/mnt"), or 0 if it can't
// be read.
func (h Host) Inode(name string) uint64 { return h.files().Inode(name) }

// Processes lists the processes in ascending order.
func (h Host) Processes() ([]int, error) { return h.files().Processes() }

// Threads lists the threads of a process in ascending order.
func (h Host) Threads(pid int) ([]int, error) { return h.files().Threads(pid) }

// Exists reports whether there is such a process or thread. A zombie counts.
func (h Host) Exists(id int) bool { return h.files().Exists(id) }

// Areas calls each with the memory areas of a process or thread, by address, until each returns
// false.
func (h Host) Areas(id int, each func(*Area) bool) error {
	return h.areas(h.Path(id, "maps"), each)
}

func (h Host) areas(path string, each func(*Area) bool) error {
	return newProcfs(h).lines(path, func(line []byte) bool {
		a, ok := parseArea(line)
		return !ok || each(&a)
	})
}

// MappedCode returns the paths of the files that a process has mapped executable, each once.
// The paths are escaped and marked as the kernel does.
func (h Host) MappedCode(pid int) (paths []string, err error) {
	seen := make(map[string]bool)
	err = h.Areas(pid, func(a *Area) bool {
		if path := string(a.Path); a.Executable && strings.HasPrefix(path, "/") && !seen[path] {
			seen[path] = true
			paths = append(paths, path)
		}
		return true
	})
	return paths, err
}

// Running returns the processes whose main thread is running, or waiting for a CPU.
func (h Host) Running() (pids []int) {
	all, err := h.Processes()
	if err != nil {
		return nil
	}
	for _, pid := range all {
		if stat, err := h.Stat(strconv.Itoa(pid)); err == nil && stat.State == 'R' { // an error means that it has ended
			pids = append(pids, pid)
		}
	}
	return pids
}
