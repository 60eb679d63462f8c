package session

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/text/match"
)

// leaveOutMissing drops tracepoints that this kernel does not have, and return probes if it
// supports none. It does so if missing_probes allows it and some probe is left. What dropped probes
// read need not be known. Otherwise missing tracepoints are an error.
func (s *session) leaveOutMissing() error {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return nil // attaching fails too, and reports it
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

// whole returns the probes of all that are not in there, because they lost every attach point.
func whole(all, there []*syntax.Probe) []*syntax.Probe {
	return slices.DeleteFunc(slices.Clone(all), func(probe *syntax.Probe) bool {
		return slices.ContainsFunc(there, func(p *syntax.Probe) bool { return p.Pos == probe.Pos })
	})
}

// filterProbes drops the attach points that do not match --probe-filter. It keeps begin, end and
// signals.
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

// without returns the probes without the attach points for which leftOut returns true, and those
// attach points. found says that some attach point is left that ringtap does not fire itself.
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

// noTracepoints returns an error that lists the missing tracepoints and similar ones. It returns
// nil if gone contains no tracepoints.
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
		near := match.NewNearest(name, 1+len(name)/5, 3, match.ShortestFirst)
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
		return nil // attaching the other probes reports what this kernel lacks
	}
	return wrong
}

// missingProbes returns the setting missing_probes. The last one wins.
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

// firesHere reports whether ringtap itself fires an attach point.
func firesHere(p *syntax.AttachPoint) bool {
	return slices.Contains([]string{"begin", "end", "interval", "self", "test", "bench", "iter"}, p.Provider)
}
