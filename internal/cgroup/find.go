package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
)

// Find returns the directory of a control group that is named by its path, in the
// file system or in its hierarchy, or by a part of a directory's name, such as the
// beginning of a container's id; a whole name comes before parts. A path that leads
// nowhere is returned as it is: who opens it says what is wrong.
func Find(name string) (string, error) {
	mounts, err := process.Host{}.ReadFile("self/mounts")
	if err != nil {
		return "", fmt.Errorf("find control groups: %w", err)
	}
	return find(string(mounts), name)
}

// find finds a control group, given the text of /proc/self/mounts.
func find(mounts, name string) (string, error) {
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

// roots returns where the hierarchy is mounted whose groups perf can watch: the
// v1 hierarchy that has the perf_event controller, or else that of v2.
func roots(mounts string) []string {
	var v1, v2 []string
	for line := range strings.Lines(mounts) {
		f := strings.Fields(line)
		switch {
		case len(f) < 4:
		case f[2] == "cgroup2":
			v2 = append(v2, unescapeMount(f[1]))
		case f[2] == "cgroup" && strings.Contains(","+f[3]+",", ",perf_event,"):
			v1 = append(v1, unescapeMount(f[1]))
		}
	}
	if len(v1) > 0 {
		return v1[:1] // the same hierarchy may be mounted elsewhere too
	}
	return v2[:min(1, len(v2))]
}

// unescapeMount undoes the escapes of a path in /proc/self/mounts (getmntent(3)).
func unescapeMount(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

// named returns the control groups below root that have name in theirs, not
// those within one of them.
func named(root, name string) (found []string) {
	// What cannot be read, or goes away meanwhile, is passed over.
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

// isGroup tells a control group from another directory of its path: "/" is the root of
// them all, and a name may be that of a directory where we happen to be.
func isGroup(path string) bool {
	var st unix.Statfs_t
	err := unix.Statfs(path, &st)
	return err == nil && (st.Type == unix.CGROUP_SUPER_MAGIC || st.Type == unix.CGROUP2_SUPER_MAGIC)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
