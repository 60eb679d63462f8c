// Package proc reads the files of proc(5) that packages ask for which must not know
// process models: names of files, lists of processes and threads, one line of a status,
// the fields of stat, sysctls. It imports nothing of this module, so that package
// perfevent can use it; process.Host is built on it.
package proc

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// FS is where proc(5) is mounted. The zero FS is /proc.
type FS string

// Live is the machine that this program runs on.
const Live FS = ""

// Name is the name of a file of proc(5): "/proc/locks".
func (fs FS) Name(name string) string { return cmp.Or(string(fs), "/proc") + "/" + name }

// Path is the name of a file of a process or thread: "/proc/1/maps".
func (fs FS) Path(id int, name string) string { return fs.Name(strconv.Itoa(id) + "/" + name) }

// Self is the name of a file of this process: "/proc/self/ns/mnt". Its number below
// /proc may be another than that of getpid(2).
func (fs FS) Self(name string) string { return fs.Name("self/" + name) }

// Descriptor is a name that leads to what a descriptor of this process stands for.
func (fs FS) Descriptor(fd int) string { return fs.Self("fd/" + strconv.Itoa(fd)) }

// ReadFile reads a file of proc(5): "locks".
func (fs FS) ReadFile(name string) ([]byte, error) { return os.ReadFile(fs.Name(name)) }

// Read reads a file of a process or thread: "cmdline".
func (fs FS) Read(id int, name string) ([]byte, error) { return os.ReadFile(fs.Path(id, name)) }

// Link reads a link of a process or thread: "exe".
func (fs FS) Link(id int, name string) (string, error) { return os.Readlink(fs.Path(id, name)) }

// Sysctl reads a value below /proc/sys: "kernel/perf_event_paranoid".
func (fs FS) Sysctl(name string) (string, error) {
	text, err := fs.ReadFile("sys/" + name)
	return strings.TrimSpace(string(text)), err
}

// Exists reports whether there is such a process or thread. A zombie counts.
func (fs FS) Exists(id int) bool {
	return unix.Access(fs.Name(strconv.Itoa(id)), unix.F_OK) == nil
}

// Processes lists the processes in ascending order.
func (fs FS) Processes() ([]int, error) { return numbers(fs.Name("")) }

// Parents returns the parent of every process.
func (fs FS) Parents() (map[int]int, error) {
	pids, err := fs.Processes()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	parents := make(map[int]int, len(pids))
	for _, pid := range pids {
		if parent, err := fs.StatusNumber(pid, "PPid"); err == nil { // else it has ended
			parents[pid] = parent
		}
	}
	return parents, nil
}

// Threads lists the threads of a process in ascending order.
func (fs FS) Threads(pid int) ([]int, error) { return numbers(fs.Path(pid, "task")) }

// Descriptors lists the open file descriptors of a process in ascending order.
func (fs FS) Descriptors(pid int) ([]int, error) { return numbers(fs.Path(pid, "fd")) }

// numbers returns the entries of a directory that are numbers, in ascending order. An
// error comes with what was read before it.
func numbers(name string) ([]int, error) {
	dir, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var list []int
	for {
		names, err := dir.Readdirnames(1024)
		for _, name := range names {
			if n, err := strconv.Atoi(name); err == nil && n >= 0 {
				list = append(list, n)
			}
		}
		if err != nil {
			slices.Sort(list)
			if err == io.EOF {
				err = nil
			}
			return list, err
		}
	}
}

// StatusNumber reads a number of the status of a process or thread: "Tgid"
// (proc_pid_status(5)).
func (fs FS) StatusNumber(id int, name string) (int, error) {
	text, err := fs.Read(id, "status")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte(name+":")); ok {
			return strconv.Atoi(string(bytes.TrimSpace(value)))
		}
	}
	return 0, fmt.Errorf("%s names no %s", fs.Path(id, "status"), name)
}

// SameNamespace reports whether a process is in the same namespace of a kind ("mnt",
// "time") as this one. The error is that of reading the link of this process, which
// older kernels do not have.
func (fs FS) SameNamespace(pid int, kind string) (bool, error) {
	ours, err := os.Readlink(fs.Self("ns/" + kind))
	if err != nil {
		return false, err
	}
	theirs, err := fs.Link(pid, "ns/"+kind)
	return err == nil && theirs == ours, nil
}
