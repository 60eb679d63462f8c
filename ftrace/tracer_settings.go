package ftrace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Settings changes files of the top-level tracefs temporarily; Close restores them. Use it for
// tracers that instances do not support: the function_graph tracer before Linux 6.11, and its
// filter and threshold since then.
//
// Before a setting is changed, its value is written to a journal. If the process is killed, the
// next NewInstance, NewGroup or RemoveStale of any process restores the settings. Only one
// process at a time can have Settings.
//
// If another program has changed a setting in the meantime, Close leaves it alone and returns
// an error that says so.
type Settings struct {
	fs      *FS
	lock    *os.File
	journal *journal

	mu    sync.Mutex
	notes []note
}

// settingsLock is the name of the lock on Settings; see lockPlace.
const settingsLock = "settings"

// settings are the files that Settings may change, and their values when nobody uses them.
var settings = map[string]string{
	"current_tracer":           "nop",
	"set_ftrace_filter":        "",
	"set_ftrace_notrace":       "",
	"set_graph_function":       "",
	"set_graph_notrace":        "",
	"set_ftrace_pid":           "",
	"set_ftrace_notrace_pid":   "",
	"max_graph_depth":          "0",
	"tracing_thresh":           "0",
	"tracing_on":               "",
	"options/sleep-time":       "",
	"options/funcgraph-irqs":   "",
	"options/function-fork":    "",
	"options/func_stack_trace": "",
}

func isSetting(name string) bool { _, ok := settings[name]; return ok }

// isList reports whether a setting is a list of words, which are appended one by one.
func isList(name string) bool {
	return strings.HasPrefix(name, "set_")
}

// livesOn reports whether the kernel itself changes a list, as threads start and end.
func livesOn(name string) bool { return strings.HasSuffix(name, "_pid") }

// OpenSettings locks the settings, after restoring those of dead processes. The caller must
// close the result. The error is a *BusyError if another ringtap has the settings.
func (t *FS) OpenSettings() (*Settings, error) {
	journal, err := t.openJournal()
	if err != nil {
		return nil, fmt.Errorf("change settings of the tracer: %w", err)
	}
	lock, err := t.lockSettings()
	if err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	// For processes that were killed since the journal was made.
	t.putBackStale(t.isStale)
	return &Settings{fs: t, lock: lock, journal: journal}, nil
}

// lockSettings locks the settings of tracefs until the returned file is closed.
func (t *FS) lockSettings() (*os.File, error) {
	lock, err := os.OpenFile(filepath.Join(t.dir, "tracing_on"), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("change settings of the tracer: %w", err)
	}
	place := lockPlace(settingsLock)
	err = unix.FcntlFlock(lock.Fd(), unix.F_OFD_SETLK, &place)
	if err == nil {
		return lock, nil
	}
	lock.Close()
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
		return nil, &BusyError{Uses: []string{"another ringtap has it" + t.settingsOwner()}, Ringtap: true}
	}
	return nil, fmt.Errorf("lock %s: %w", lock.Name(), err)
}

// settingsOwner returns the first process with a journal, for a message.
func (t *FS) settingsOwner() string {
	for _, name := range t.instances(func(name string) bool { return !isMine(name) && !t.isStale(name) }) {
		if pid, _, ok := parseOwner(name); ok && len(At(filepath.Join(t.dir, "instances", name)).readJournal()) > 0 {
			return fmt.Sprintf(" (process %d)", pid)
		}
	}
	return ""
}

// setting returns the value of a setting in the form that put takes. A list has one word on
// each line.
func (t *FS) setting(name string) (string, error) {
	text, err := t.read(name)
	if err != nil || !isList(name) {
		return text, err
	}
	var words []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		// Skip placeholders for an empty list, and commands on functions
		// ("vfs_read:traceoff:unlimited"), which are not part of the list.
		if line == "" || strings.HasPrefix(line, "#") || line == "no pid" || strings.Contains(line, ":") {
			continue
		}
		function, module, ok := strings.Cut(line, " [")
		if ok {
			line = function + ":mod:" + strings.TrimSuffix(module, "]")
		}
		words = append(words, line)
	}
	return strings.Join(words, "\n"), nil
}

// put writes a setting. how is O_TRUNC, which replaces a list, or O_APPEND.
func (t *FS) put(name, value string, how int) error {
	if isList(name) && value != "" {
		value += "\n"
	}
	return t.write(name, value, how)
}

// Set changes the named setting. The words of a list are separated by newlines; "" empties the
// list. The error has the kernel's reason, the setting and the value. The setting may have
// changed even if there is an error.
func (s *Settings) Set(name, value string) error { return s.change(name, value, os.O_TRUNC) }

// Add adds words, separated by newlines, to a list.
func (s *Settings) Add(name, value string) error { return s.change(name, value, os.O_APPEND) }

// Note makes Close restore the named setting, which the caller changes by other means than Set.
func (s *Settings) Note(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.note(name)
	return err
}

// note records the value of a setting unless that was done before. It returns the index in
// notes.
func (s *Settings) note(name string) (int, error) {
	if !isSetting(name) {
		return 0, fmt.Errorf("change %s: %w", name, fs.ErrInvalid)
	}
	if at := slices.IndexFunc(s.notes, func(n note) bool { return n.name == name }); at >= 0 {
		return at, nil
	}
	before, err := s.fs.setting(name)
	if err != nil {
		return 0, err
	}
	if err := s.journal.write("before", name, before); err != nil {
		return 0, err
	}
	s.notes = append(s.notes, note{name: name, before: before})
	return len(s.notes) - 1, nil
}

func (s *Settings) change(name, value string, how int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if how == os.O_TRUNC && !livesOn(name) && !slices.ContainsFunc(s.notes, func(n note) bool { return n.name == name }) {
		if before, err := s.fs.setting(name); err == nil && before == value {
			return nil
		}
	}
	at, err := s.note(name)
	if err != nil {
		return err
	}
	if s.notes[at].now != "" {
		if err := s.journal.write("now", name, ""); err != nil {
			return err
		}
		s.notes[at].now = ""
	}
	err = s.fs.put(name, value, how)
	if livesOn(name) {
		return err
	}
	now, readErr := s.fs.setting(name)
	if readErr == nil && now != "" {
		readErr = s.journal.write("now", name, now)
	}
	if readErr == nil {
		s.notes[at].now = now
	}
	return err
}

// Close restores all settings, the latest change first, and releases the lock. If it fails, the
// error names the settings that could not be restored, and Close can be called again.
func (s *Settings) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return nil
	}
	_, left, err := s.fs.putBack(s.notes)
	s.notes = left
	if len(left) > 0 {
		return err
	}
	s.lock.Close()
	s.lock = nil
	return errors.Join(err, s.journal.Close())
}

// putBack restores settings, the last first. restored lists them as "NAME=VALUE". left are
// those that could not be restored. A setting that another program has changed in the meantime
// is reported in err, but is not in left.
func (t *FS) putBack(notes []note) (restored []string, left []note, err error) {
	var errs []error
	taken := false // another program has set another tracer
	for _, n := range slices.Backward(notes) {
		current, err := t.setting(n.name)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("restore %s: %w", n.name, err))
			left = append(left, n)
			continue
		case current == n.before && !livesOn(n.name):
			continue // a list whose threads have all ended is not "no list"
		case n.now != "" && current != n.now, livesOn(n.name) && taken:
			errs = append(errs, fmt.Errorf("did not restore %s to %s: another program has set it to %s", n.name, brief(n.before), brief(current)))
			taken = taken || n.name == "current_tracer"
			continue
		}
		if err := t.put(n.name, n.before, os.O_TRUNC); err != nil {
			errs = append(errs, fmt.Errorf("restore %s to %s: %w", n.name, brief(n.before), err))
			left = append(left, n)
			continue
		}
		restored = append(restored, n.name+"="+strings.ReplaceAll(n.before, "\n", " "))
	}
	slices.Reverse(left)
	return restored, left, errors.Join(errs...)
}
