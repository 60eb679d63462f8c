package ftrace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// stalePatience is short: who died with its perf events open has them closed
// by now, and what someone else holds open stays.
const stalePatience = 20 * time.Millisecond

// RemoveStale removes what ringtaps have left behind that were killed: the
// events of groups whose owner is gone, and trace instances. Removed names
// them, "GROUP/EVENT" and "instances/NAME". What belongs to living processes or
// to others than ringtap is not touched. The error joins those of everything
// that should have been removed and could not, for instance because another
// program listens to the event.
func (t *FS) RemoveStale() (removed []string, err error) {
	var errs []error
	stale := map[string]bool{}
	isStale := func(name string) bool {
		known, ok := stale[name]
		if !ok {
			known = t.isStale(name)
			stale[name] = known
		}
		return known
	}
	for _, file := range []string{"uprobe_events", "kprobe_events"} {
		text, err := os.ReadFile(filepath.Join(t.dir, file))
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, fmt.Errorf("look for stale events: %w", err))
			}
			continue
		}
		for _, event := range definedEvents(string(text)) {
			if !isStale(event.System) {
				continue
			}
			if err := t.removeEvent(file, event.System, event.Name, stalePatience); err != nil {
				errs = append(errs, err)
				continue
			}
			removed = append(removed, event.System+"/"+event.Name)
		}
	}
	// A kernel without trace instances has no such directory.
	instances, _ := os.ReadDir(filepath.Join(t.dir, "instances"))
	for _, instance := range instances {
		name := filepath.Join("instances", instance.Name())
		if !isStale(instance.Name()) {
			continue
		}
		if err := unix.Rmdir(filepath.Join(t.dir, name)); err == nil {
			removed = append(removed, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("remove %s: %w", name, err))
		}
	}
	return removed, errors.Join(errs...)
}

// definedEvents reads the events out of uprobe_events or kprobe_events, whose
// lines are "p:GROUP/EVENT PLACE ARGS…", with a number behind r in some. An event
// with several probes has a line for each.
func definedEvents(text string) []EventName {
	var events []EventName
	for line := range strings.Lines(text) {
		head, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		_, name, ok := strings.Cut(head, ":")
		group, event, ok2 := strings.Cut(name, "/")
		if ok && ok2 && isIdentifier(event) {
			events = append(events, EventName{group, event})
		}
	}
	return slices.Compact(events)
}
