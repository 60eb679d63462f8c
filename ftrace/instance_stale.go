package ftrace

import (
	"errors"
	"os"
	"path/filepath"
)

// removeStaleInstances removes the instances for which isStale is true. Settings in their
// journals are restored first.
func (t *FS) removeStaleInstances(isStale func(name string) bool) (removed []string, err error) {
	var errs []error
	if t.hasStaleJournal(isStale) {
		lock, err := t.lockSettings()
		if err == nil {
			restored, err := t.putBackStale(isStale)
			removed = append(removed, restored...)
			errs = append(errs, err)
			lock.Close()
		}
		// Otherwise another ringtap is restoring the settings, or could not.
	}
	for _, name := range t.instances(isStale) {
		dir := filepath.Join(t.dir, "instances", name)
		if len(At(dir).readJournal()) > 0 {
			continue // its settings were not restored
		}
		if err := t.removeStaleInstance(dir); err != nil {
			errs = append(errs, err)
			continue
		}
		removed = append(removed, filepath.Join("instances", name))
	}
	return removed, errors.Join(errs...)
}

// instances returns the names of the instances for which want is true. A kernel without
// instances has no such directory.
func (t *FS) instances(want func(name string) bool) []string {
	dirs, _ := os.ReadDir(filepath.Join(t.dir, "instances"))
	var names []string
	for _, dir := range dirs {
		if want(dir.Name()) {
			names = append(names, dir.Name())
		}
	}
	return names
}

func (t *FS) hasStaleJournal(isStale func(name string) bool) bool {
	for _, name := range t.instances(isStale) {
		if len(At(filepath.Join(t.dir, "instances", name)).readJournal()) > 0 {
			return true
		}
	}
	return false
}

// putBackStale restores the settings in the journals of stale instances, and removes the
// instances whose journal was restored. The caller must hold the settings lock.
func (t *FS) putBackStale(isStale func(name string) bool) (restored []string, err error) {
	var errs []error
	for _, name := range t.instances(isStale) {
		dir := filepath.Join(t.dir, "instances", name)
		notes := At(dir).readJournal()
		if len(notes) == 0 {
			continue
		}
		done, left, err := t.putBack(notes)
		restored = append(restored, done...)
		errs = append(errs, err)
		if len(left) > 0 {
			continue
		}
		if err := t.removeStaleInstance(dir); err != nil {
			errs = append(errs, err)
			continue
		}
		restored = append(restored, filepath.Join("instances", name))
	}
	return restored, errors.Join(errs...)
}

func (t *FS) removeStaleInstance(dir string) error {
	triggers := t.removeTriggers(dir)
	if err := removeInstance(dir, stalePatience); err != nil {
		return errors.Join(triggers, err)
	}
	return nil
}
