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

// stalePatience is how long one try waits: who died with its perf events open has them
// closed by now, and what someone else holds open stays.
const stalePatience = 20 * time.Millisecond

// RemoveStale removes what ringtaps have left behind that were killed: the
// events of groups whose owner is gone, and trace instances; and it puts back the
// settings that they had changed (Settings). Removed names them, "GROUP/EVENT",
// "instances/NAME" and "SETTING=VALUE". What belongs to living processes or to
// others than ringtap is not touched. The error joins those of everything
// that should have been removed and could not, for instance because another
// program listens to the event. RemoveStale tries again for as long as patience:
// another ringtap that looks for the same keeps an instance busy for a moment.
func (t *FS) RemoveStale(patience time.Duration) (removed []string, err error) {
	return t.removePatiently(t.isStale, patience)
}

// RemoveOwn does what RemoveStale does for what this very process has made before it
// executed a new program (execve(2)), which closed all of its events: the kernel may still be
// doing that.
func (t *FS) RemoveOwn() (removed []string, err error) {
	return t.removePatiently(func(name string) bool { return isMine(name) && !t.isLocked(name) }, closePatience)
}

// removePatiently removes what belongs to the owners that isOwner says yes to, and tries again for as
// long as patience while something is left.
func (t *FS) removePatiently(isOwner func(name string) bool, patience time.Duration) (removed []string, err error) {
	for end := time.Now().Add(patience); ; {
		var done []string
		done, err = t.removeOf(isOwner)
		if removed = append(removed, done...); err == nil || time.Now().After(end) {
			return removed, err
		}
	}
}

// removeOf removes what belongs to the owners that isOwner says yes to.
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
	// Instances go first: an event that is on in one can't be removed.
	done, instanceErr := t.removeStaleInstances(isStale)
	removed = append(removed, done...)
	if instanceErr != nil {
		errs = append(errs, instanceErr)
	}
	// So do synthetic events, which such an instance may name.
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

// onePiece is a length of lists that the kernel certainly handed out in one piece, of at
// most a page and consistent (fs/seq_file.c).
const onePiece = 2048

// readDefinitions reads uprobe_events, kprobe_events or dynamic_events. The kernel hands
// out a longer list page by page and counts lines to find where the next page begins: a line
// that goes in between hides another one. So such a list is read until it is the same
// twice, or for the last time.
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
