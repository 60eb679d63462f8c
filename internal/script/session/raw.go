package session

import (
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/names"
	"github.com/ringtap/ringtap/internal/script/syntax"
)

// findRaw finds the systems of raw tracepoints, which programs name without it.
func (s *session) findRaw() error {
	var wrong []*syntax.Error
	for _, probe := range s.parsed.Probes {
		for _, p := range probe.Points {
			if p.Provider != "rawtracepoint" {
				continue
			}
			event := p.Args[len(p.Args)-1]
			if strings.ContainsAny(event, "*?[") {
				p.Args = []string{"*", event}
				continue
			}
			tracefs, _, err := ftrace.Mount()
			if err != nil {
				return err
			}
			system, near, err := systemOf(tracefs, event)
			if err != nil {
				return err
			}
			if system == "" {
				wrong = append(wrong, &syntax.Error{Pos: p.Pos, Len: len(p.Text), Msg: "this kernel has no tracepoint " + event, Hint: near})
			}
			p.Args = []string{system, event}
		}
	}
	if len(wrong) > 0 {
		return &syntax.Errors{List: wrong, Sources: s.parsed.Sources}
	}
	return nil
}

// systemOf returns the system that has a tracepoint, "" if none has it, and then a hint with
// what resembles it. Of several it is the one with the least number, which is the kernel's own:
// others come from dynamic events.
func systemOf(tracefs *ftrace.FS, event string) (system, hint string, err error) {
	all, err := tracefs.Events()
	if err != nil {
		return "", "", err
	}
	least := 0
	nearest := names.NewNearest(event, max(1, len(event)/3), 3, names.ShortestFirst)
	for _, e := range all {
		if e.System == "syscalls" {
			continue // they are raw_syscalls'
		}
		nearest.Add(e.Name)
		if e.Name != event {
			continue
		}
		format, err := tracefs.Format(e.System, e.Name)
		if err == nil && (system == "" || format.ID < least) {
			system, least = e.System, format.ID
		}
	}
	if near := slices.Compact(nearest.Names()); system == "" && len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return system, hint, nil
}
