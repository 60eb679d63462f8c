package ftrace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Synthetic is a synthetic event that belongs to this process. Hist triggers generate it from
// two other events (Documentation/trace/histogram.rst, section 2.3). Its name identifies the
// owner, like that of a Group.
type Synthetic struct {
	fs    *FS
	owner *owner

	mu     sync.Mutex
	closed bool
}

const syntheticSystem = "synthetic"

// NewSynthetic defines a synthetic event with fields such as "u64 lat; pid_t pid". It calls
// RemoveStale first and ignores its errors. The caller must close it, after the instances whose
// triggers use it. The error wraps fs.ErrNotExist if the kernel has no synthetic events
// (CONFIG_SYNTH_EVENTS, CONFIG_HIST_TRIGGERS).
func (t *FS) NewSynthetic(fields string) (*Synthetic, error) {
	if !t.Has("synthetic_events") {
		return nil, fmt.Errorf("this kernel has no synthetic events (CONFIG_SYNTH_EVENTS): %w", fs.ErrNotExist)
	}
	t.RemoveStale(0) // a leftover that cannot be removed does not matter
	owner, err := t.own()
	if err != nil {
		return nil, fmt.Errorf("define a synthetic event: %w", err)
	}
	if err := t.write("synthetic_events", owner.name+" "+fields, os.O_APPEND); err != nil {
		owner.release()
		return nil, fmt.Errorf("define a synthetic event: %w", err)
	}
	return &Synthetic{fs: t, owner: owner}, nil
}

// System returns the event's system.
func (s *Synthetic) System() string { return syntheticSystem }

// Name returns the event's name.
func (s *Synthetic) Name() string { return s.owner.name }

// Close removes the event. Triggers that use it must have been removed. The kernel releases
// them late, so Close waits for up to a second. If it fails, it can be called again.
func (s *Synthetic) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	if err := s.fs.removeSynthetic(s.Name(), closePatience); err != nil {
		return err
	}
	s.closed = true
	s.owner.release()
	return nil
}

func (t *FS) removeSynthetic(name string, patience time.Duration) error {
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if !t.Has(filepath.Join("events", syntheticSystem, name)) {
			return nil
		}
		err := t.write("synthetic_events", "!"+name, os.O_APPEND)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("remove the synthetic event %s: %w", name, err)
		}
	}
}

// staleSynthetics returns the synthetic events for which isStale is true.
func (t *FS) staleSynthetics(isStale func(name string) bool) []string {
	text, err := t.read("synthetic_events")
	if err != nil {
		return nil // most kernels have none
	}
	var stale []string
	for line := range strings.Lines(text) {
		if fields := strings.Fields(line); len(fields) > 0 && isStale(fields[0]) {
			stale = append(stale, fields[0])
		}
	}
	return stale
}
