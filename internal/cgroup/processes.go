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

// Processes returns the ids of the processes in a control group and in those below
// it, in order. A group below that goes away meanwhile, or can't be read, as one of
// threads, has none; the error is that of the group itself.
func Processes(dir string) (pids []int, err error) { return members(dir, "cgroup.procs") }

// Threads returns the ids of the threads in a control group and in those below it, as
// Processes does.
func Threads(dir string) (tids []int, err error) { return members(dir, "cgroup.threads", "tasks") }

// members reads the ids of a control group's members and of those below, each in the
// first of the files that there is.
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

// readFirst reads the first file of a directory that there is: cgroup v2 and v1 call
// the list of threads by two names.
func readFirst(dir string, files []string) (text []byte, err error) {
	for _, file := range files {
		if text, err = os.ReadFile(filepath.Join(dir, file)); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return text, err
}
