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
)

// stalePatience is how long one attempt waits. The perf events of a dead process are closed by
// then; if another program holds an event open, waiting longer does not help.
const stalePatience = 20 * time.Millisecond

// RemoveStale removes what killed ringtaps have left in tracefs: the events of groups whose
// owner is dead, and trace instances. It also restores the settings that they had changed
// (Settings). It never touches anything of living processes or of other programs.
//
// removed lists "GROUP/EVENT", "instances/NAME" and "SETTING=VALUE". The error joins the errors
// for everything that could not be removed, for instance because another program has the event
// open. RemoveStale retries until patience has passed: another ringtap that cleans up at the
// same time keeps an instance busy for a moment.
func (t *FS) RemoveStale(patience time.Duration) (removed []string, err error) {
	return t.removePatiently(t.isStale, patience)
}

// RemoveOwn is RemoveStale for the things that this process created before it executed a new
// program (execve(2)). That closed all of its events, but the kernel may still be releasing
// them.
func (t *FS) RemoveOwn() (removed []string, err error) {
	return t.removePatiently(func(name string) bool { return isMine(name) && !t.isLocked(name) }, closePatience)
}

// removePatiently removes everything whose owner isOwner accepts. It retries until patience has
// passed or nothing is left.
func (t *FS) removePatiently(isOwner func(name string) bool, patience time.Duration) (removed []string, err error) {
	for end := time.Now().Add(patience); ; {
		var done []string
		done, err = t.removeOf(isOwner)
		if removed = append(removed, done...); err == nil || time.Now().After(end) {
			return removed, err
		}
	}
}

// removeOf removes everything whose owner isOwner accepts.
func (t *FS) removeOf(isOwner func(name string) bool) (removed []string, err error) {
	var errs []error
	stale := map[string]bool{}
	isStale := func(name string) bool {
		known, ok := stale[name]
		if !ok {
			known = isOwner(name)
			stale[name] = known
		}
		return known
	}
	// Instances go first: an event cannot be removed while an instance has it enabled.
	done, instanceErr := t.removeStaleInstances(isStale)
	removed = append(removed, done...)
	if instanceErr != nil {
		errs = append(errs, instanceErr)
	}
	// Synthetic events go next; instances may have used them.
	for _, name := range t.staleSynthetics(isStale) {
		if err := t.removeSynthetic(name, stalePatience); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, syntheticSystem+"/"+name)
	}
	for _, file := range []string{eventProbes, "uprobe_events", "kprobe_events"} {
		text, err := t.readDefinitions(file)
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, fmt.Errorf("look for stale events: %w", err))
			}
			continue
		}
		if file == eventProbes {
			text = onlyEventProbes(text)
		}
		for _, event := range definedEvents(text) {
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
	return removed, errors.Join(errs...)
}

// onePiece is a length up to which the kernel returns a list in one consistent piece: it is
// below a page (fs/seq_file.c).
const onePiece = 2048

// readDefinitions reads uprobe_events, kprobe_events or dynamic_events. The kernel returns a
// longer list page by page and finds the next page by counting lines. If a line is removed in
// between, another line is missed. So a long list is read until two readings are the same, or
// the tries are used up.
func (t *FS) readDefinitions(file string) (string, error) {
	const tries = 20
	var last string
	for range tries {
		text, err := os.ReadFile(filepath.Join(t.dir, file))
		if err != nil {
			return "", err
		}
		if len(text) < onePiece || string(text) == last {
			return string(text), nil
		}
		last = string(text)
	}
	return last, nil
}

// definedEvents parses the events in uprobe_events or kprobe_events. The lines are
// "p:GROUP/EVENT PLACE ARGS…"; an r may be followed by a number. An event with several probes
// has a line for each.
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
