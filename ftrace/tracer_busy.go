package ftrace

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// BusyError is returned if the top-level tracer, filters or buffer are in use.
type BusyError struct {
	Uses []string // readable descriptions: "current_tracer is function"
	// Ringtap says that another ringtap uses them; it must end first.
	Ringtap bool
}

func (e *BusyError) Error() string {
	return "the kernel's tracer is in use: " + strings.Join(e.Uses, "; ")
}

// Uses returns a *BusyError if the named settings are in use. Without names it checks all
// settings, events and the buffer of the top-level tracefs.
func (s *Settings) Uses(names ...string) error {
	var uses []string
	for name, idle := range settings {
		if !isList(name) && idle == "" || !s.fs.Has(name) || len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		value, err := s.fs.setting(name)
		if err != nil {
			return fmt.Errorf("see whether the kernel's tracer is in use: %w", err)
		}
		if value != idle {
			uses = append(uses, fmt.Sprintf("%s is %s", name, brief(value)))
		}
	}
	slices.Sort(uses)
	if len(names) > 0 {
		return busy(uses)
	}
	if events, err := s.fs.read("set_event"); err == nil && events != "" {
		uses = append(uses, "set_event is "+brief(events))
	}
	dirs, _ := filepath.Glob(filepath.Join(s.fs.dir, "per_cpu", "cpu[0-9]*"))
	var entries uint64
	for cpu := range dirs {
		if stats, err := s.fs.bufferStats(cpu); err == nil {
			entries += stats["entries"]
		}
	}
	if entries > 0 {
		uses = append(uses, fmt.Sprintf("its buffer holds %d records that would be lost", entries))
	}
	return busy(uses)
}

func busy(uses []string) error {
	if len(uses) == 0 {
		return nil
	}
	return &BusyError{Uses: uses}
}

// brief returns a short form of a setting's value for messages.
func brief(value string) string {
	first, rest, _ := strings.Cut(value, "\n")
	if rest != "" {
		return fmt.Sprintf("%q and %d more", first, strings.Count(rest, "\n")+1)
	}
	return fmt.Sprintf("%q", first)
}
