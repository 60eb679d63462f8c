package session

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/names"
	"github.com/ringtap/ringtap/internal/script/syntax"
)

// leaveOutMissing leaves out the tracepoints that this kernel does not have, and probes of returns
// if it makes none, if the program's setting missing_probes asks for that and something is left.
// What such a probe reads need not be known then. Else tracepoints that are not there are wrong.
func (s *session) leaveOutMissing() error {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return nil // who can't read it can't attach either, which is said then
	}
	missing := func(p *syntax.AttachPoint) bool {
		if p.Provider == "kretprobe" {
			return !tracefs.Has("kprobe_events")
		}
		if p.Provider != "tracepoint" || len(p.Args) != 2 || strings.ContainsAny(p.Text, "*?[") {
			return false
		}
		_, err := tracefs.Format(p.Args[0], p.Args[1])
		return errors.Is(err, fs.ErrNotExist)
	}
	there, gone, found := s.without(missing)
	wanted := missingProbes(s.parsed)
	switch {
	case len(gone) == 0:
		return nil
	case !found || wanted != "ignore" && wanted != "warn":
		return s.noTracepoints(tracefs, gone)
	case wanted == "warn" && !s.opts.NoWarnings:
		for _, p := range gone {
			fmt.Fprintf(s.opts.Stderr, "%s: WARNING: No matches for %s. Skipping.\n", syntax.Place(s.parsed.Sources, p.Pos), strings.Replace(p.Text, ":", " ", 1))
		}
	}
	s.leftOut = whole(s.parsed.Probes, there)
	s.parsed.Probes = there
	return nil
}

// whole returns the probes of which nothing is left.
func whole(all, there []*syntax.Probe) []*syntax.Probe {
	return slices.DeleteFunc(slices.Clone(all), func(probe *syntax.Probe) bool {
		return slices.ContainsFunc(there, func(p *syntax.Probe) bool { return p.Pos == probe.Pos })
	})
}

// filterProbes leaves out the attach points that the filter does not match. begin, end and signals stay.
func (s *session) filterProbes() error {
	filter := s.opts.ProbeFilter
	if filter == nil {
		return nil
	}
	stays := func(p *syntax.AttachPoint) bool { return slices.Contains([]string{"begin", "end", "self"}, p.Provider) }
	there, _, _ := s.without(func(p *syntax.AttachPoint) bool { return !stays(p) && !filter.MatchString(p.Text) })
	if !slices.ContainsFunc(there, func(p *syntax.Probe) bool {
		return slices.ContainsFunc(p.Points, func(p *syntax.AttachPoint) bool { return !stays(p) })
	}) {
		return fmt.Errorf("no probe to attach: --probe-filter %s matches none of the program's", filter)
	}
	s.leftOut = append(s.leftOut, whole(s.parsed.Probes, there)...)
	s.parsed.Probes = there
	return nil
}

// without returns the probes without some attach points, these points, and whether something is left
// that this process does not make fire itself.
func (s *session) without(leftOut func(*syntax.AttachPoint) bool) (there []*syntax.Probe, gone []*syntax.AttachPoint, found bool) {
	for _, probe := range s.parsed.Probes {
		points := slices.DeleteFunc(slices.Clone(probe.Points), func(p *syntax.AttachPoint) bool {
			if !leftOut(p) {
				return false
			}
			gone = append(gone, p)
			return true
		})
		if len(points) == 0 && len(probe.Points) > 0 {
			continue
		}
		there = append(there, &syntax.Probe{Pos: probe.Pos, Points: points, Predicate: probe.Predicate, Body: probe.Body})
		found = found || slices.ContainsFunc(points, func(p *syntax.AttachPoint) bool { return !firesHere(p) })
	}
	return there, gone, found
}

// noTracepoints says which tracepoints this kernel does not have, and what is like them. It is nil
// if none of those that are gone is a tracepoint.
func (s *session) noTracepoints(tracefs *ftrace.FS, gone []*syntax.AttachPoint) error {
	all, err := tracefs.Events()
	if err != nil {
		return err
	}
	wrong := &syntax.Errors{Sources: s.parsed.Sources}
	for _, p := range gone {
		if p.Provider != "tracepoint" {
			continue
		}
		name := p.Args[0] + ":" + p.Args[1]
		near := names.NewNearest(name, 1+len(name)/5, 3, names.ShortestFirst)
		for _, event := range all {
			near.Add(event.String())
		}
		hint := "ringtap run -l 'tracepoint:*' lists them"
		if found := near.Names(); len(found) > 0 {
			hint = "did you mean " + strings.Join(found, " or ") + "?"
		}
		wrong.List = append(wrong.List, &syntax.Error{Pos: p.Pos, Len: len(p.Text), Msg: "No matches for tracepoint " + name + ": this kernel has none of that name", Hint: hint})
	}
	if len(wrong.List) == 0 {
		return nil // to attach the rest says what this kernel does not make
	}
	return wrong
}

// missingProbes is the setting of that name, which the last one decides.
func missingProbes(p *syntax.Program) (word string) {
	for _, setting := range p.Config {
		if setting.Name != "missing_probes" {
			continue
		}
		switch value := setting.Value.(type) {
		case *syntax.Ident:
			word = value.Name
		case *syntax.Str:
			word = value.Value
		}
	}
	return word
}

// firesHere tells whether ringtap itself makes an attach point fire.
func firesHere(p *syntax.AttachPoint) bool {
	return slices.Contains([]string{"begin", "end", "interval", "self", "test", "bench", "iter"}, p.Provider)
}
