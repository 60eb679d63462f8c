package snapshot

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Processes lists the processes that /proc shows.
func Processes() ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// Named picks the processes of that name: as top(1) shows it, or that of the program's
// file, with or without its path.
func Named(pids []int, name string) []int {
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
		if Comm(pid) == name {
			return false
		}
		text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		program, _, _ := strings.Cut(string(text), "\x00")
		return err != nil || program != name && filepath.Base(program) != name
	})
}

// InNamespace picks the process that has that pid in its own pid namespace.
func InNamespace(pids []int, own int) []int {
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
		return status(pid, "NSpid") != own
	})
}

// WithChildren adds the descendants of processes, each behind its parent.
func WithChildren(all, pids []int) []int {
	children := make(map[int][]int)
	for _, pid := range all {
		if parent := status(pid, "PPid"); parent > 0 {
			children[parent] = append(children[parent], pid)
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
