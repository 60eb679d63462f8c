package ftrace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// removeTriggers removes the triggers of ringtap's events in the instance in dir. The kernel
// keeps an instance as long as one of its triggers has variables. It keeps a trigger as long as
// another one uses its variables or its synthetic event.
func (t *FS) removeTriggers(dir string) error {
	events, err := t.availableEvents()
	if err != nil {
		return err
	}
	var files []string
	for _, e := range events {
		if strings.HasPrefix(e.System, ownerPrefix) || e.System == syntheticSystem && strings.HasPrefix(e.Name, ownerPrefix) {
			files = append(files, filepath.Join(dir, "events", e.System, e.Name, "trigger"))
		}
	}
	// We do not parse which trigger uses which. Each round may make more of them removable.
	for {
		removed, left := 0, []error(nil)
		for _, file := range files {
			n, err := removeTriggersOf(file)
			removed += n
			left = append(left, err)
		}
		if err := errors.Join(left...); err == nil || removed == 0 {
			return err
		}
	}
}

// removeTriggersOf removes the triggers in an event's file "trigger", and returns how many. It
// truncates the file, which removes all hist triggers that no other trigger uses
// (hist_unreg_all in kernel/trace/trace_events_hist.c). Removing them by their text would fail:
// Linux 7.3 does not accept some texts that it prints, such as "common_cpucommon_cpu".
func removeTriggersOf(file string) (removed int, err error) {
	before, err := readTriggers(file)
	if len(before) == 0 || err != nil {
		return 0, err
	}
	// The kernel checks for O_TRUNC when the file is opened; truncate(2) has no effect.
	if err := At(filepath.Dir(file)).write("trigger", "", os.O_TRUNC); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("remove triggers: %w", err)
	}
	left, err := readTriggers(file)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%s: could not remove a trigger: %s", file, left[0])
	}
	return len(before) - len(left), err
}

// readTriggers returns the triggers in an event's file "trigger". If another ringtap has
// already removed the event, there are none.
func readTriggers(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return triggersOf(string(text)), err
}

// triggersOf returns the lines that are triggers. If there are none, the file lists the
// available trigger commands.
func triggersOf(text string) []string {
	var triggers []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			triggers = append(triggers, line)
		}
	}
	return triggers
}
