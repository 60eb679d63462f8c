package process

import (
	"path/filepath"
	"slices"
	"strings"
)

// Named picks the processes of that name: as top(1) shows it, or that of the program's
// file, with or without its path.
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

// InNamespace picks the process that has that pid in its own pid namespace.
func (h Host) InNamespace(pids []int, own int) []int {
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
		status, err := h.Status(pid)
		return err != nil || status.NSPID != own
	})
}

// WithChildren adds the descendants of processes, each behind its parent.
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
