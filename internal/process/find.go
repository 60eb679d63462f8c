package process

import (
	"path/filepath"
	"slices"
	"strings"
)

// Named returns the processes with that name: the one in top(1), or the program file's, with or
// without its path.
func (h Host) Named(pids []int, name string) []int {
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
		if h.Comm(pid) == name {
			return false
		}
		text, err := h.Read(pid, "cmdline")
		program, _, _ := strings.Cut(string(text), "\x00")
		return err != nil || program != name && filepath.Base(program) != name
	})
}

// InNamespace returns the processes in pids that have the PID nsPID in their own PID namespace.
func (h Host) InNamespace(pids []int, nsPID int) []int {
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
		status, err := h.Status(pid)
		return err != nil || status.NSPID != nsPID
	})
}

// WithChildren returns pids and their descendants among all, each after its parent.
func (h Host) WithChildren(all, pids []int) []int {
	children := make(map[int][]int)
	for _, pid := range all {
		if status, err := h.Status(pid); err == nil && status.PPID > 0 {
			children[status.PPID] = append(children[status.PPID], pid)
		}
	}
	var tree []int
	var add func(pid int)
	add = func(pid int) {
		if slices.Contains(tree, pid) {
			return
		}
		tree = append(tree, pid)
		for _, child := range children[pid] {
			add(child)
		}
	}
	for _, pid := range pids {
		add(pid)
	}
	return tree
}
