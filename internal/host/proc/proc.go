// Package proc reads files of proc(5) for packages that must not know process models: names of
// files, lists of processes and threads, one line of a status, the fields of stat, sysctls. It
// imports nothing of this module, so that package perfevent can use it. process.Host is built
// on it.
package proc

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// FS is the mount point of proc(5). The zero FS is /proc.
type FS string

// Live is the machine that this program runs on.
const Live FS = ""

// Nowhere has no files, and nobody can create any: /dev/null is no directory.
const Nowhere FS = "/dev/null"

// Name returns the name of a file of proc(5): "/proc/locks".
func (fs FS) Name(name string) string { return cmp.Or(string(fs), "/proc") + "/" + name }

// Path returns the name of a file of a process or thread: "/proc/1/maps".
func (fs FS) Path(id int, name string) string { return fs.Name(strconv.Itoa(id) + "/" + name) }

// Self returns the name of a file of this process: "/proc/self/ns/mnt". The process's number
// below /proc may differ from getpid(2).
func (fs FS) Self(name string) string { return fs.Name("self/" + name) }

// Descriptor returns a name for the open file of one of this process's descriptors.
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

// Kallsyms opens the kernel's symbols, for package symbols to read. The caller closes
// the file.
func (fs FS) Kallsyms() (*os.File, error) { return os.Open(fs.Name("kallsyms")) }

// Comm returns the name of a process or thread, as raw bytes, or "" if there is none.
func (fs FS) Comm(id int) string {
	text, _ := fs.Read(id, "comm")
	return strings.TrimSuffix(string(text), "\n")
}

// Inode returns the inode number of the target of a proc(5) link ("1/ns/mnt"), or 0 if it can't
// be read.
func (fs FS) Inode(name string) uint64 {
	var st unix.Stat_t
	if unix.Stat(fs.Name(name), &st) != nil {
		return 0
	}
	return st.Ino
}

// CgroupV2 returns the path of this process's control group in the version 2 hierarchy
// (cgroups(7)), or "" if there is none.
func (fs FS) CgroupV2() string {
	text, _ := fs.ReadFile("self/cgroup")
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			return path
		}
	}
	return ""
}

// NameThreads names all threads of this process; the kernel keeps 15 bytes. A new thread
// inherits its creator's name, so NameThreads repeats until two passes find no thread with
// another name.
func (fs FS) NameThreads(name string) error {
	for clean := 0; clean < 2; {
		clean++
		threads, err := numbers(fs.Self("task"))
		if err != nil {
			return err
		}
		for _, tid := range threads {
			file := fs.Self("task/" + strconv.Itoa(tid) + "/comm")
			text, err := os.ReadFile(file)
			if errors.Is(err, os.ErrNotExist) {
				continue // it has ended
			}
			if err == nil && strings.TrimSuffix(string(text), "\n") != name {
				clean = 0
				err = os.WriteFile(file, []byte(name), 0)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
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
		if parent, err := fs.StatusNumber(pid, "PPid"); err == nil { // an error means that it has ended
			parents[pid] = parent
		}
	}
	return parents, nil
}

// Threads lists the threads of a process in ascending order.
func (fs FS) Threads(pid int) ([]int, error) { return numbers(fs.Path(pid, "task")) }

// Descriptors lists the open file descriptors of a process in ascending order.
func (fs FS) Descriptors(pid int) ([]int, error) { return numbers(fs.Path(pid, "fd")) }

// numbers returns the entries of a directory that are numbers, in ascending order. After an
// error it also returns the entries read before.
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

// StatusNumber reads a number from the status file of a process or thread: "Tgid"
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

// SameNamespace reports whether a process is in the same namespace of a kind ("mnt", "time") as
// this process. The error is about the link of this process, which older kernels do not have.
func (fs FS) SameNamespace(pid int, kind string) (bool, error) {
	ours, err := os.Readlink(fs.Self("ns/" + kind))
	if err != nil {
		return false, err
	}
	theirs, err := fs.Link(pid, "ns/"+kind)
	return err == nil && theirs == ours, nil
}
