package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/host/proc"
)

// Find returns the directory of a control group. name is its path in the file system or in its
// hierarchy, or a part of its directory's name, such as the beginning of a container's id. A
// complete name wins over parts. A path that does not exist is returned unchanged: opening it
// gives the error.
func Find(name string) (string, error) {
	mounts, err := proc.Live.Mounts()
	if err != nil {
		return "", fmt.Errorf("find control groups: %w", err)
	}
	return find(mounts, name)
}

// find is Find with the mounted file systems.
func find(mounts []proc.Mount, name string) (string, error) {
	if isGroup(name) {
		return name, nil
	}
	hierarchies := roots(mounts)
	if strings.Contains(name, "/") {
		for _, root := range hierarchies {
			if path := filepath.Join(root, name); isDir(path) {
				return path, nil
			}
		}
		return name, nil
	}
	var found, exact []string
	for _, root := range hierarchies {
		found = append(found, named(root, name)...)
	}
	for _, path := range found {
		if filepath.Base(path) == name {
			exact = append(exact, path)
		}
	}
	switch {
	case len(exact) == 1:
		return exact[0], nil
	case len(found) == 0 && isDir(name):
		return name, nil
	case len(hierarchies) == 0:
		return "", errors.New("no cgroup v2 and no perf_event hierarchy is mounted")
	case len(found) == 0:
		return "", fmt.Errorf("no such directory, and no control group below %s contains that in its name", strings.Join(hierarchies, ", "))
	case len(found) > 1:
		return "", fmt.Errorf("%d control groups have that in their names:\n  %s", len(found), strings.Join(found, "\n  "))
	}
	return found[0], nil
}

// roots returns the mount point of the hierarchy whose groups perf can watch: the v1 hierarchy
// with the perf_event controller, otherwise v2.
func roots(mounts []proc.Mount) []string {
	var v1, v2 []string
	for _, m := range mounts {
		switch {
		case m.Type == "cgroup2":
			v2 = append(v2, m.Path)
		case m.Type == "cgroup" && slices.Contains(m.Options, "perf_event"):
			v1 = append(v1, m.Path)
		}
	}
	if len(v1) > 0 {
		return v1[:1] // the same hierarchy may be mounted elsewhere too
	}
	return v2[:min(1, len(v2))]
}

// named returns the control groups below root that have name in their directory's name, but not
// groups inside these.
func named(root, name string) (found []string) {
	// Skip directories that can't be read or vanish meanwhile.
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil || !d.IsDir() || path == root:
			return nil
		case strings.Contains(d.Name(), name):
			found = append(found, path)
			return fs.SkipDir
		}
		return nil
	})
	return found
}

// isGroup reports whether a path is a control group and not some other directory. "/" is also
// the root of each hierarchy, and a name may be a directory in our working directory.
func isGroup(path string) bool {
	var st unix.Statfs_t
	err := unix.Statfs(path, &st)
	return err == nil && (st.Type == unix.CGROUP_SUPER_MAGIC || st.Type == unix.CGROUP2_SUPER_MAGIC)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
