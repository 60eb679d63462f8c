package session

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/script/syntax"
)

// leaveOutMissing leaves out the tracepoints that this kernel does not have, if the program's
// setting missing_probes asks for that. It leaves the program as it is if nothing would be left.
func (s *session) leaveOutMissing() {
	wanted := missingProbes(s.parsed)
	if wanted != "ignore" && wanted != "warn" {
		return
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return
	}
	missing := func(p *syntax.AttachPoint) bool {
		if p.Provider != "tracepoint" || len(p.Args) != 2 || strings.ContainsAny(p.Text, "*?[") {
			return false
		}
		_, err := tracefs.Format(p.Args[0], p.Args[1])
		return errors.Is(err, fs.ErrNotExist)
	}
	var there []*syntax.Probe
	found := false
	for _, probe := range s.parsed.Probes {
		points := slices.DeleteFunc(slices.Clone(probe.Points), missing)
		if len(points) == 0 {
			continue
		}
		there = append(there, &syntax.Probe{Pos: probe.Pos, Points: points, Predicate: probe.Predicate, Body: probe.Body})
		found = found || slices.ContainsFunc(points, func(p *syntax.AttachPoint) bool { return !firesHere(p) })
	}
	if !found {
		return
	}
	if wanted == "warn" && !s.opts.NoWarnings {
		for _, probe := range s.parsed.Probes {
			for _, p := range probe.Points {
				if missing(p) {
					fmt.Fprintf(s.opts.Stderr, "WARNING: this kernel has no %s\n", p.Text)
				}
			}
		}
	}
	s.parsed.Probes = there
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
	return slices.Contains([]string{"begin", "end", "interval", "self", "test", "bench"}, p.Provider)
}
