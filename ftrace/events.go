package ftrace

import (
	"cmp"
	"fmt"
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
	text, err := os.ReadFile(filepath.Join(t.dir, "available_events"))
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	var events []EventName
	for line := range strings.Lines(string(text)) {
		system, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		if ok && !strings.HasPrefix(system, ownerPrefix) {
			events = append(events, EventName{system, name})
		}
	}
	slices.SortFunc(events, func(a, b EventName) int {
		return cmp.Or(cmp.Compare(a.System, b.System), cmp.Compare(a.Name, b.Name))
	})
	return events, nil
}
