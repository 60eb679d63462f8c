package snapshot

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/snapshot/descriptors"
	"github.com/ringtap/ringtap/internal/snapshot/syscalls"
	"github.com/ringtap/ringtap/internal/stack"
)

// process reads the process's properties and prepares the look at its threads.
func (l *look) process(tids []int) {
	s := l.snapshot
	p := l.processes.Reread(s.PID)
	s.NSPID, s.Comm, s.Cgroup = p.NSPID, p.Comm, p.Cgroup
	if status, err := l.host().Status(s.PID); err == nil {
		s.Parent, s.Tracer = status.PPID, status.TracerPID
	}
	living := l.living(tids)
	if text, err := l.host().Read(living, "cmdline"); err == nil {
		s.Command = strings.TrimSpace(strings.ReplaceAll(string(text), "\x00", " "))
	}
	l.arch, l.unwinding = l.host().Arch(), l.unwinder
	if l.compat = is32Bit(l.host().Path(living, "exe")); l.compat {
		l.arch = l.arch.Compat()
		l.unwinding = callchain.New(l.arch)
	}
	l.runtimes = stack.NewRuntimes(l.processes)
	l.user = userStacks{host: l.host(), arch: l.arch, pid: living, space: p, unwinder: l.unwinding, start: l.start, runtimes: l.runtimes}
	fds := descriptors.Open(l.host(), living)
	l.describe = syscalls.Thread{Memory: l.user.read, File: fds.Name, Task: l.task, Compat: l.compat}
	l.stacks, l.kernels = make(map[*Thread]int), make(map[*Thread]int)
	l.words, l.variables = make(map[*Thread]lockWords), make(map[uint64]string)
	l.levels = make(map[*Thread][]interpreted)
	l.interned = callchain.NewInterner()
}

// living returns a thread that still has the process's memory and files. The main thread may have
// ended before others.
func (l *look) living(tids []int) int {
	for _, tid := range append([]int{l.snapshot.PID}, tids...) {
		if t, err := l.files.read(tid); err == nil && t.State != 'Z' {
			l.kernel = t.kernel
			return tid
		}
	}
	return l.snapshot.PID
}

// is32Bit reports whether a program is a 32-bit one (elf(5), EI_CLASS).
func is32Bit(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var ident [elf.EI_NIDENT]byte
	_, err = f.ReadAt(ident[:], 0)
	return err == nil && elf.Class(ident[elf.EI_CLASS]) == elf.ELFCLASS32
}

// task returns the name of the process with an id in the process's own PID namespace.
func (l *look) task(id int) string {
	if !l.nested() {
		return l.host().Comm(id)
	}
	all, err := l.host().Processes()
	if err != nil {
		return ""
	}
	own, _ := l.host().Link(l.snapshot.PID, "ns/pid")
	for _, pid := range l.host().InNamespace(all, id) {
		if its, _ := l.host().Link(pid, "ns/pid"); its == own {
			return l.host().Comm(pid)
		}
	}
	return ""
}

// missing returns the error for a process that cannot be looked at.
func missing(pid int, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) {
		return &GoneError{PID: pid}
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("process %d: %w (run as root or as the process's user)", pid, err)
	}
	return fmt.Errorf("process %d: %w", pid, err)
}

// GoneError is returned for a process that does not exist.
type GoneError struct{ PID int }

func (e *GoneError) Error() string {
	return fmt.Sprintf("process %d: it does not exist, has ended, or /proc hides it (hidepid)", e.PID)
}
