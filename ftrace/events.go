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

// EventName is the name of a tracepoint.
type EventName struct{ System, Name string }

// String returns the name in perf(1)'s form: system:name.
func (e EventName) String() string { return e.System + ":" + e.Name }

// Events returns the tracepoints of the running kernel, dynamic ones included, sorted by system
// and name. It leaves out systems whose names start with ringtap_: these are temporary events
// of running ringtaps. The error wraps fs.ErrPermission if the caller may not read the list.
func (t *FS) Events() ([]EventName, error) {
	events, err := t.availableEvents()
	return slices.DeleteFunc(events, func(e EventName) bool { return strings.HasPrefix(e.System, ownerPrefix) }), err
}

// HasEvent reports whether the kernel has the tracepoint and it can be enabled, as with all
// tracepoints that Events returns.
func (t *FS) HasEvent(e EventName) bool {
	return isName(e.System) && isName(e.Name) && t.Has(filepath.Join("events", e.System, e.Name, "enable"))
}

// availableEvents reads the file available_events and sorts its lines.
//
// The kernel returns it page by page, newest first, and finds the start of the next page by
// counting lines. If a dynamic event is removed in between, one reading misses other events. So
// it is read until several readings in a row have nothing new. Two are not enough: both may
// miss the events at the page boundaries. Events that only earlier readings have are looked up.
//
// Listing the directories instead would crash Linux 6.18: eventfs_iterate follows a null
// pointer if an event is removed in the meantime (struct eventfs_inode keeps its list and the
// rcu_head that frees it in one place). The reading thread dies in the kernel.
func (t *FS) availableEvents() ([]EventName, error) {
	const tries, settled = 20, 3
	last := make(map[EventName]int) // number of the last reading that has the event
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
