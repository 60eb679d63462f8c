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

// Settings are files of tracefs itself that were changed for a while and that
// Close puts back as they were. They are for what instances can't do: before
// Linux 6.11 the function_graph tracer, after it its filter and threshold.
//
// Before a setting is changed, what it was is noted in a journal. If the process
// is killed, the next NewInstance, NewGroup or RemoveStale of any process puts
// the settings back. One process at a time has Settings.
//
// A setting that someone else has changed in the meantime is his: it is left
// alone, and the error says so.
type Settings struct {
	fs      *FS
	lock    *os.File
	journal *journal

	mu    sync.Mutex
	notes []note
}

// settingsLock stands for Settings; see lockPlace.
const settingsLock = "settings"

// settings are the files that Settings may change, and what they are when no one
// uses them.
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

// isList tells whether a setting is a list of words, which are added one by one.
func isList(name string) bool {
	return strings.HasPrefix(name, "set_")
}

// livesOn tells whether the kernel changes a list by itself, as threads come and
// go.
func livesOn(name string) bool { return strings.HasSuffix(name, "_pid") }

// OpenSettings begins a change of settings; first it puts back what dead
// processes have left. The caller must close them. The error is a *BusyError if
// another ringtap has settings.
func (t *FS) OpenSettings() (*Settings, error) {
	journal, err := t.openJournal()
	if err != nil {
		return nil, fmt.Errorf("change settings of the tracer: %w", err)
	}
	lock, err := t.lockSettings()
	if err != nil {
		return nil, errors.Join(err, journal.Close())
	}
	// Whoever was killed since the journal was made.
	t.putBackStale(t.isStale)
	return &Settings{fs: t, lock: lock, journal: journal}, nil
}

// lockSettings claims the settings of tracefs, until the file is closed.
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

// settingsOwner names the processes that have a journal.
func (t *FS) settingsOwner() string {
	for _, name := range t.instances(func(name string) bool { return !isMine(name) && !t.isStale(name) }) {
		if pid, _, ok := parseOwner(name); ok && len(At(filepath.Join(t.dir, "instances", name)).readJournal()) > 0 {
			return fmt.Sprintf(" (process %d)", pid)
		}
	}
	return ""
}

// setting reads what a setting is, in the form that put takes: of lists the
// words, one on a line.
func (t *FS) setting(name string) (string, error) {
	text, err := t.read(name)
	if err != nil || !isList(name) {
		return text, err
	}
	var words []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		// What stands for an empty list, and commands at functions
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

// put gives a setting a value; how is O_TRUNC, by which lists lose what they
// held, or O_APPEND.
func (t *FS) put(name, value string, how int) error {
	if isList(name) && value != "" {
		value += "\n"
	}
	return t.write(name, value, how)
}

// Set gives the named setting a value. Lists take words with line breaks between
// them; "" is the empty list. The error says what the kernel did not like, with
// the setting and the value; then the setting may have changed nonetheless.
func (s *Settings) Set(name, value string) error { return s.change(name, value, os.O_TRUNC) }

// Add adds words to a list, with line breaks between them.
func (s *Settings) Add(name, value string) error { return s.change(name, value, os.O_APPEND) }

// Note has Close put the named setting back, which is changed in another way than
// by Set.
func (s *Settings) Note(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.note(name)
	return err
}

// note notes what a setting is unless that was done before, and returns its place
// in notes.
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

// Close puts all settings back, the latest change first, and ends the claim to
// them. If it fails, the settings that could not be put back are in its error,
// and it can be called again.
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

// putBack gives settings the values that they had, the last first. Restored
// names them, "NAME=VALUE"; left are those that could not be put back. What
// someone else has changed meanwhile is his and in err, but not in left.
func (t *FS) putBack(notes []note) (restored []string, left []note, err error) {
	var errs []error
	taken := false // someone has set another tracer
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
