package ftrace

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// EventName names a tracepoint.
type EventName struct{ System, Name string }

// String is the name as perf(1) writes it: system:name.
func (e EventName) String() string { return e.System + ":" + e.Name }

// Events lists the tracepoints of the running kernel, dynamic ones included,
// sorted by system and name. Systems whose names begin with ringtap_ are left
// out: ringtaps have defined those for themselves. The error wraps fs.ErrPermission if the caller may not know.
//
// It reads the directories. The file available_events has the same names, but the
// kernel hands it out page by page, newest first, and counts lines to find where
// the next page begins: if a dynamic event goes in between, the list lacks others.
func (t *FS) Events() ([]EventName, error) {
	systems, err := directories(filepath.Join(t.dir, "events"))
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	var events []EventName
	for _, system := range systems {
		if system == tracersSystem || strings.HasPrefix(system, ownerPrefix) {
			continue
		}
		names, err := directories(filepath.Join(t.dir, "events", system))
		switch {
		case isGone(err):
			continue
		case err != nil:
			return nil, fmt.Errorf("list events: %w", err)
		}
		for _, name := range names {
			events = append(events, EventName{system, name})
		}
	}
	slices.SortFunc(events, func(a, b EventName) int {
		return cmp.Or(cmp.Compare(a.System, b.System), cmp.Compare(a.Name, b.Name))
	})
	return events, nil
}

// tracersSystem describes the records that the kernel's tracers write. They are no
// events that could be switched on.
const tracersSystem = "ftrace"

// directories returns the names of the directories in a directory.
func directories(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// isGone tells whether a directory could not be read because its last event was
// removed. EINVAL is what reading it says if it was open already (fs/tracefs/event_inode.c,
// eventfs_iterate).
func isGone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.EINVAL)
}
