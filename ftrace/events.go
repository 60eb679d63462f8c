package ftrace

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// EventName names a tracepoint.
type EventName struct{ System, Name string }

// String is the name as perf(1) writes it: system:name.
func (e EventName) String() string { return e.System + ":" + e.Name }

// Events lists the tracepoints of the running kernel, dynamic ones included,
// sorted by system and name. Systems whose names begin with ringtap_ are left
// out: ringtaps have defined those for themselves. The error wraps fs.ErrPermission if the caller may not know.
func (t *FS) Events() ([]EventName, error) {
	events, err := t.availableEvents()
	return slices.DeleteFunc(events, func(e EventName) bool { return strings.HasPrefix(e.System, ownerPrefix) }), err
}

// HasEvent tells whether the kernel has a tracepoint that can be turned on, as all of
// Events can.
func (t *FS) HasEvent(e EventName) bool {
	return isName(e.System) && isName(e.Name) && t.Has(filepath.Join("events", e.System, e.Name, "enable"))
}

// availableEvents reads the file available_events, and sorts what it has.
//
// The kernel hands it out page by page, newest first, and counts lines to find where
// the next page begins: if a dynamic event goes in between, the reading lacks others.
// So it is read until several readings in a row have nothing new: two may lack the same, those at the
// ends of pages. What only earlier ones have is looked up.
//
// To list the directories instead would crash Linux 6.18: eventfs_iterate follows a null
// pointer when an event is removed meanwhile (struct eventfs_inode keeps its list and the
// rcu_head that frees it in one place). The thread that reads dies in the kernel.
func (t *FS) availableEvents() ([]EventName, error) {
	const tries, settled = 20, 3
	last := make(map[EventName]int) // the last reading that has it
	for n, idle := 1, 0; ; n++ {
		text, err := os.ReadFile(filepath.Join(t.dir, "available_events"))
		if err != nil {
			return nil, fmt.Errorf("list events: %w", err)
		}
		before := len(last)
		for line := range strings.Lines(string(text)) {
			if system, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":"); ok {
				last[EventName{system, name}] = n
			}
		}
		if idle++; len(last) > before {
			idle = 0
		}
		if idle == settled || n == tries {
			maps.DeleteFunc(last, func(e EventName, reading int) bool { return reading < n && !t.HasEvent(e) })
			break
		}
	}
	return slices.SortedFunc(maps.Keys(last), func(a, b EventName) int {
		return cmp.Or(cmp.Compare(a.System, b.System), cmp.Compare(a.Name, b.Name))
	}), nil
}
