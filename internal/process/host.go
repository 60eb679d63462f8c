package process

import (
	"bytes"
	"cmp"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/proc"
	"github.com/ringtap/ringtap/perfevent"
)

// Host is a machine as its proc(5) shows it. The zero Host is the machine that
// this program runs on. Whoever asks the live machine for a process's state asks
// a Host, so that a directory tree can stand in for it in tests. A Host may be
// used by several goroutines.
type Host struct {
	// Proc is where proc(5) is mounted; "" is /proc.
	Proc string
	// Machine is what it runs on; zero is what this program runs on.
	Machine callchain.Arch
	// Clock is the clock of its records, in nanoseconds; nil is this machine's
	// CLOCK_MONOTONIC.
	Clock func() uint64
}

// clock is the host's clock. This machine's goes on from one system call by the
// runtime's clock, which is the same.
func (h Host) clock() func() uint64 {
	if h.Clock != nil {
		return h.Clock
	}
	begin, made := perfevent.Now(), time.Now()
	return func() uint64 { return begin + uint64(time.Since(made)) }
}

// Live tells whether it is the machine that this program runs on, as it is now.
func (h Host) Live() bool { return h.Proc == "" && h.Machine == 0 && h.Clock == nil }

// Arch is the machine that its code is for.
func (h Host) Arch() callchain.Arch { return cmp.Or(h.Machine, callchain.Host()) }

// Sysctl reads a value below /proc/sys: "kernel/perf_event_max_stack".
func (h Host) Sysctl(name string) (string, error) { return h.files().Sysctl(name) }

// files is where the host's files are.
func (h Host) files() proc.FS { return proc.FS(h.Proc) }

// Path is the name of a file of a process or thread: "/proc/1/maps".
func (h Host) Path(id int, name string) string { return h.files().Path(id, name) }

// ReadFile reads a file of proc(5): "locks".
func (h Host) ReadFile(name string) ([]byte, error) { return h.files().ReadFile(name) }

// Read reads a file of a process or thread: "cmdline".
func (h Host) Read(id int, name string) ([]byte, error) { return h.files().Read(id, name) }

// Link reads a link of a process or thread: "exe".
func (h Host) Link(id int, name string) (string, error) { return h.files().Link(id, name) }

// Kallsyms opens the kernel's symbols, for package symbols to read. The caller closes
// the file.
func (h Host) Kallsyms() (*os.File, error) { return os.Open(h.files().Name("kallsyms")) }

// Comm is the name of a process or thread, raw bytes; "" if there is none.
func (h Host) Comm(id int) string {
	text, _ := h.Read(id, "comm")
	return strings.TrimSuffix(string(text), "\n")
}

// Processes lists the processes in ascending order.
func (h Host) Processes() ([]int, error) { return h.files().Processes() }

// Threads lists the threads of a process in ascending order.
func (h Host) Threads(pid int) ([]int, error) { return h.files().Threads(pid) }

// Exists reports whether there is such a process or thread. A zombie counts.
func (h Host) Exists(id int) bool { return h.files().Exists(id) }

// Areas calls each with the memory areas of a process or thread by address, until
// it returns false.
func (h Host) Areas(id int, each func(*Area) bool) error {
	return h.areas(h.Path(id, "maps"), each)
}

func (h Host) areas(path string, each func(*Area) bool) error {
	return newProcfs(h).lines(path, func(line []byte) bool {
		a, ok := parseArea(line)
		return !ok || each(&a)
	})
}

// inode returns the inode number that a magic link of a process leads to
// ("ns/mnt"), or 0 if it cannot be read.
func (h Host) inode(pid, name string) uint64 {
	var st unix.Stat_t
	if err := unix.Stat(h.files().Name(pid+"/"+name), &st); err != nil {
		return 0
	}
	return st.Ino
}

// Running lists the processes whose main thread runs now, or waits for a CPU.
func (h Host) Running() (pids []int) {
	all, err := h.Processes()
	if err != nil {
		return nil
	}
	for _, pid := range all {
		stat, err := h.Read(pid, "stat")
		if err != nil {
			continue // it has ended
		}
		if state := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]); len(state) > 0 && string(state[0]) == "R" {
			pids = append(pids, pid)
		}
	}
	return pids
}
