package main

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/uprobe"
)

// histSpec is what hist measures, as its user wrote it.
type histSpec struct {
	text  string
	place place
	kind  string // "p", "r", "u"; "t" of a tracepoint
	probe string // the definition behind kind and colon; of a tracepoint its name
	field string // of a tracepoint
	value bool   // an argument or a field is measured, and not the time of calls
}

// parseSpec reads a specification. Its errors are usageErrors but where files
// had to be read.
func (h *histFlags) parseSpec(out *console, text string) (*histSpec, error) {
	s := &histSpec{text: text}
	s.kind, s.probe = cutKind(text)
	words := strings.Fields(s.probe)
	if len(words) == 0 {
		return nil, usagef("%q names nothing to measure", text)
	}
	if s.kind == "t" || s.kind == "" && isTracepoint(words) {
		return s, s.parseTracepoint(words)
	}
	s.place, s.probe = placeOf(s.kind, s.probe, h.pid)
	if s.kind == "" {
		s.kind = "p"
	}
	var arguments int
	var offset bool
	switch s.place {
	case inKernel:
		d, err := kprobe.Parse(s.kind + ":" + s.probe)
		if err != nil {
			return nil, &usageError{err}
		}
		if d.Alias != "" { // of "vfs_read count" only the kernel's functions tell what count is
			options := h.kprobeOptions(out)
			options.Types = kprobe.KernelTypes("")
			plan, err := kprobe.Resolve(d, options)
			if err != nil {
				return nil, wrongDefinition(err)
			}
			d = plan.Definition
		}
		arguments, offset = len(d.Args), d.Offset != 0 || d.Symbol == ""
		if s.allArguments(len(d.Args), d.Fetch) {
			arguments = 2
		}
	default:
		d, err := uprobe.Parse(s.kind + ":" + s.probe)
		if err != nil {
			return nil, &usageError{err}
		}
		arguments, offset = len(d.Args), d.Offset != 0 || d.Place != uprobe.PlaceFunction
		if s.allArguments(len(d.Args), d.Fetch) {
			arguments = 2
		}
	}
	s.value = arguments == 1
	switch {
	case arguments > 1:
		return nil, usagef("%s: a histogram is of one argument", text)
	case s.value:
		return s, nil
	case s.kind == "u":
		return nil, usagef("%s: a mark takes no time; with one of its arguments, such as arg1, its values are counted", text)
	case offset:
		return nil, usagef("%s: only whole functions can be timed; with an argument, its values at that place are counted", text)
	}
	return s, nil
}

// allArguments tells whether one argument stands for all.
func (s *histSpec) allArguments(n int, fetch string) bool {
	return n == 1 && strings.HasPrefix(strings.TrimSpace(fetch), "$args")
}

// isTracepoint tells whether words are a tracepoint of this kernel and a field.
func isTracepoint(words []string) bool {
	system, event, ok := strings.Cut(words[0], ":")
	if !ok || len(words) != 2 || strings.ContainsAny(system+event, "/:*?[") {
		return false
	}
	tracefs, err := ftrace.Find()
	if err != nil {
		return false
	}
	_, err = tracefs.EventID(system, event)
	return err == nil
}

// parseTracepoint takes a tracepoint and its field.
func (s *histSpec) parseTracepoint(words []string) error {
	s.place, s.kind, s.value = atTracepoint, "t", true
	if strings.Count(words[0], ":") != 1 {
		return usagef("%q is not a tracepoint: SYSTEM:EVENT", words[0])
	}
	switch len(words) {
	case 1:
		return usagef("%s takes no time: which of its fields is to be counted? Give it behind the name", words[0])
	case 2:
		s.probe, s.field = words[0], words[1]
		return nil
	}
	return usagef("%s: a histogram is of one field", s.text)
}

func (s *histSpec) String() string { return fmt.Sprintf("%s:%s", s.kind, s.probe) }
