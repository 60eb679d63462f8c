package session

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/text/match"
)

// maxRaw is how many raw tracepoints a pattern may match.
const maxRaw = 500

// findRaw finds the systems of raw tracepoints, which programs leave out.
func (s *session) findRaw() error {
	var wrong []*syntax.Error
	for _, probe := range s.parsed.Probes {
		var points []*syntax.AttachPoint
		for _, p := range probe.Points {
			found := []*syntax.AttachPoint{p}
			if p.Provider == "rawtracepoint" {
				all, err := rawEvents()
				if err != nil {
					return err
				}
				switch found = rawPoints(all, p); {
				case len(found) == 0:
					wrong = append(wrong, noRaw(all, p))
				case len(found) > maxRaw:
					wrong = append(wrong, &syntax.Error{
						Pos: p.Pos, Len: len(p.Text), Msg: fmt.Sprintf("%s matches %d tracepoints; at most %d can be traced at once", p.Text, len(found), maxRaw),
					})
				}
			}
			points = append(points, found...)
		}
		probe.Points = points
	}
	if len(wrong) > 0 {
		return &syntax.Errors{List: wrong, Sources: s.parsed.Sources}
	}
	return nil
}

// rawEvents returns the tracepoints that can be raw. Those of single system calls cannot: they are
// built on raw_syscalls' two.
func rawEvents() ([]ftrace.EventName, error) {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return nil, err
	}
	all, err := tracefs.Events()
	return slices.DeleteFunc(all, func(e ftrace.EventName) bool { return e.System == "syscalls" }), err
}

// rawPoints returns an attach point, with its system, for each tracepoint that p matches.
func rawPoints(all []ftrace.EventName, p *syntax.AttachPoint) (points []*syntax.AttachPoint) {
	event := p.Args[len(p.Args)-1]
	glob, err := match.ParseGlob(event)
	if err != nil || len(p.Args) == 2 && !hasModule(p.Args[0]) {
		return nil
	}
	known := map[string]bool{}
	for _, e := range all {
		if !glob.Match(e.Name) || known[e.Name] {
			continue
		}
		known[e.Name] = true
		one := *p
		one.Args = []string{systemOf(all, e.Name), e.Name}
		if isPattern(event) {
			one.Text = "rawtracepoint:" + e.Name
		}
		points = append(points, &one)
	}
	return points
}

// hasModule reports whether the kernel has a module, loaded or built in. A pattern counts as
// existing.
func hasModule(name string) bool {
	_, err := os.Stat(filepath.Join("/sys/module", filepath.Base(name)))
	return name == "vmlinux" || isPattern(name) || err == nil
}

// systemOf returns the system of a tracepoint. If several have one of that name, the one with the
// lowest id is the kernel's own, and the others are dynamic events.
func systemOf(all []ftrace.EventName, event string) (system string) {
	var systems []string
	for _, e := range all {
		if e.Name == event {
			systems = append(systems, e.System)
		}
	}
	if len(systems) == 1 {
		return systems[0]
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return systems[0]
	}
	least := 0
	for _, candidate := range systems {
		format, err := tracefs.Format(candidate, event)
		if err == nil && (system == "" || format.ID < least) {
			system, least = candidate, format.ID
		}
	}
	return cmp.Or(system, systems[0])
}

// noRaw returns the error for an attach point that matches no tracepoint, with similar names.
func noRaw(all []ftrace.EventName, p *syntax.AttachPoint) *syntax.Error {
	event := p.Args[len(p.Args)-1]
	wrong := &syntax.Error{Pos: p.Pos, Len: len(p.Text), Msg: "No matches for rawtracepoint " + event + ": this kernel has none of that name"}
	if len(p.Args) == 2 && !hasModule(p.Args[0]) {
		wrong.Msg = "No matches for rawtracepoint " + p.Args[0] + ":" + event + ": this kernel has no module " + p.Args[0]
		return wrong
	}
	nearest := match.NewNearest(event, max(1, len(event)/3), 3, match.ShortestFirst)
	for _, e := range all {
		nearest.Add(e.Name)
	}
	if near := slices.Compact(nearest.Names()); len(near) > 0 {
		wrong.Hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return wrong
}
