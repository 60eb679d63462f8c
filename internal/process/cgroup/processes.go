package cgroup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Processes returns the ids of the processes in a control group and in the groups below it, in
// order. Groups below it that vanish meanwhile or can't be read, such as threaded groups, are
// skipped. The error is about the group itself.
func Processes(dir string) (pids []int, err error) { return members(dir, "cgroup.procs") }

// Threads is like Processes for threads.
func Threads(dir string) (tids []int, err error) { return members(dir, "cgroup.threads", "tasks") }

// members returns the ids in a control group and the groups below it. In each group it reads
// the first of files that exists.
func members(dir string, files ...string) (ids []int, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return err
		case err != nil && entry.IsDir():
			return fs.SkipDir
		case err != nil || !entry.IsDir():
			return nil
		}
		text, err := readFirst(path, files)
		if err != nil && path == dir {
			return err
		}
		for field := range strings.FieldsSeq(string(text)) {
			if id, err := strconv.Atoi(field); err == nil && id > 0 { // 0: of another pid namespace
				ids = append(ids, id)
			}
		}
		return nil
	})
	slices.Sort(ids)
	return slices.Compact(ids), err
}

// readFirst reads the first of files that exists in a directory: cgroup v2 and v1 have
// different names for the list of threads.
func readFirst(dir string, files []string) (text []byte, err error) {
	for _, file := range files {
		if text, err = os.ReadFile(filepath.Join(dir, file)); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return text, err
}
