package ftrace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// removeTriggers removes the triggers of events of ours in an instance. The kernel
// keeps an instance as long as a trigger in it has variables, and a trigger as long
// as another one names its variables or its synthetic event.
func (t *FS) removeTriggers() error {
	var files []string
	for _, pattern := range []string{ownerPrefix + "*/*", syntheticSystem + "/" + ownerPrefix + "*"} {
		found, err := filepath.Glob(filepath.Join(t.dir, "events", pattern, "trigger"))
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	// Which trigger names which follows from their texts, but that is for the
	// kernel to read: a round that removes some may let go of others.
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

// removeTriggersOf removes the triggers in an event's file "trigger", and returns
// how many.
func removeTriggersOf(file string) (removed int, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil // another ringtap was faster
	}
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, trigger := range triggersOf(string(text)) {
		if err := At(filepath.Dir(file)).write("trigger", "!"+trigger, os.O_APPEND); err != nil {
			errs = append(errs, fmt.Errorf("remove a trigger: %w", err))
			continue
		}
		removed++
	}
	return removed, errors.Join(errs...)
}

// triggersOf reads the triggers out of an event's file "trigger", in the form that
// removes them. Without any, the file lists what there could be.
func triggersOf(text string) []string {
	var triggers []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		for _, state := range []string{" [active]", " [paused]"} {
			line = strings.TrimSuffix(line, state)
		}
		triggers = append(triggers, line)
	}
	return triggers
}
