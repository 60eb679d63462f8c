package probe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/text/match"
	"github.com/ringtap/ringtap/perfevent"
)

// maxTracepoints is the maximum number of tracepoints for a pattern.
const maxTracepoints = 500

// TracepointError is returned when no tracepoint has a name or matches a pattern.
type TracepointError struct {
	Name  string
	Known []string // all tracepoints of the kernel
}

func (e *TracepointError) Error() string { return fmt.Sprintf("tracepoint %s not found", e.Name) }

// PatternError is returned when a text is neither a tracepoint's name nor a pattern.
type PatternError struct {
	pattern string
	err     error // nil if there is no colon
}

func (e *PatternError) Error() string {
	if e.err != nil {
		return fmt.Sprintf("pattern %q: %v", e.pattern, e.err)
	}
	return fmt.Sprintf("%q is not a tracepoint: want SYSTEM:EVENT, see ringtap tpoint -l", e.pattern)
}

// Unwrap returns the fault in the pattern, or nil.
func (e *PatternError) Unwrap() error { return e.err }

// notSampled is a tracepoint that a sample may trigger. So the kernel takes no samples of it
// (arch/x86/include/asm/trace/irq_vectors.h).
var notSampled = ftrace.EventName{System: "irq_vectors", Name: "irq_work_exit"}

// tracepoints adds sources for the tracepoints that match a name or pattern.
func (s *Set) tracepoints(pattern string) error {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	names, err := chooseTracepoints(tracefs, pattern)
	if err != nil {
		return err
	}
	if i := slices.Index(names, notSampled); i >= 0 && len(names) > 1 && !s.options.Counts {
		s.note("left out %s: the kernel does not let it be sampled; funccount counts it", notSampled)
		names = slices.Delete(names, i, i+1)
	}
	for _, name := range names {
		if slices.Contains(s.Functions, name.String()) {
			continue // another pattern has it too
		}
		format, err := tracefs.Format(name.System, name.Name)
		if err != nil {
			return err
		}
		s.Functions = append(s.Functions, name.String())
		s.Sources = append(s.Sources, Source{
			Event: perfevent.Tracepoint(uint64(format.ID), name.String()), Filter: s.options.Filter, Format: format, Function: len(s.Functions) - 1,
		})
	}
	return nil
}

// chooseTracepoints returns the tracepoints that match a name or pattern.
func chooseTracepoints(tracefs *ftrace.FS, pattern string) ([]ftrace.EventName, error) {
	if !strings.Contains(pattern, ":") {
		return nil, &PatternError{pattern: pattern}
	}
	glob, err := match.ParseGlob(pattern)
	if err != nil {
		return nil, &PatternError{pattern: pattern, err: err}
	}
	system, event, _ := strings.Cut(pattern, ":")
	if name := (ftrace.EventName{System: system, Name: event}); !match.IsGlob(pattern) && tracefs.HasEvent(name) {
		return []ftrace.EventName{name}, nil
	}
	all, err := tracefs.Events()
	if err != nil {
		return nil, err
	}
	var chosen []ftrace.EventName
	var known []string
	for _, event := range all {
		name := event.String()
		known = append(known, name)
		if glob.Match(name) {
			chosen = append(chosen, event)
		}
	}
	switch {
	case len(chosen) == 0:
		return nil, &TracepointError{Name: pattern, Known: known}
	case len(chosen) > maxTracepoints:
		return nil, fmt.Errorf("%q matches %d tracepoints; at most %d can be traced at once", pattern, len(chosen), maxTracepoints)
	}
	return chosen, nil
}
