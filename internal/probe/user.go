package probe

import (
	"fmt"
	"slices"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe/library"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/uprobe"
)

// userHits attaches to places in user code.
func (s *Set) userHits(spec *Spec) error {
	d, err := uprobe.Parse(spec.definition)
	if err != nil {
		return err
	}
	return s.eachFile(d, func(pid int) error {
		plan, err := s.resolveUser(d, pid, s.options.Limit)
		if err != nil {
			return err
		}
		for i := range plan.Sites {
			s.valued(plan.Sites[i].Args)
		}
		s.Definition = plan.String()
		s.AtEntry = plan.AtEntry() && (s.AtEntry || len(s.Sources) == 0)
		s.Placement = append(s.Placement, placement(plan)...)
		added, err := s.attachUser(plan, s.shares(len(plan.Sites)))
		if err != nil {
			return err
		}
		s.name(spec, added, len(plan.Sites), func(i int) string { return plan.Sites[i].Symbol })
		return nil
	})
}

// name sets the Function of the sources and adds the names of the places to Functions.
func (s *Set) name(spec *Spec, added []Source, places int, name func(i int) string) {
	if s.options.Values {
		s.Functions = []string{spec.Text}
		return
	}
	for i := range added {
		added[i].Function = len(s.Functions) + i
	}
	for i := range places {
		s.Functions = append(s.Functions, name(i))
	}
}

// resolveUser finds the places for a definition, as process pid sees its target.
func (s *Set) resolveUser(d *uprobe.Definition, pid, limit int) (*uprobe.Plan, error) {
	plan, err := uprobe.Resolve(d, uprobe.Options{PID: pid, Exact: s.options.Exact, Returning: s.options.Calls == TimedCalls, MaxSites: limit, Logger: s.options.Logger})
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, plan.Close)
	for _, note := range plan.Notes {
		s.note("%s", note)
	}
	if pid != 0 && len(plan.Sites) > 0 && !s.options.Target.Held() {
		if there, err := library.Mapped(pid, plan.Sites[0].KernelPath); err == nil && !there {
			s.note("process %d has not mapped %s: there will be no hits unless it or a child loads it", pid, plan.Path)
		}
	}
	return plan, nil
}

// valued makes a site's argument signed if it has no type, and sets Value. It does nothing
// without Options.Values.
func (s *Set) valued(args []ftrace.FetchArg) {
	if !s.options.Values {
		return
	}
	if args[0].Type == "" {
		args[0].Type = "s64"
	}
	s.Value = args[0].Name
}

// attachUser adds sources for the sites of a plan, and returns them.
func (s *Set) attachUser(plan *uprobe.Plan, share bool) ([]Source, error) {
	if len(plan.Sites) == 0 {
		return nil, nil
	}
	a, err := uprobe.Attach(plan, uprobe.AttachOptions{Target: s.options.Target, Filter: s.options.Filter,
		PerSampling: s.perSampling(), Merge: share, Logger: s.options.Logger})
	if err != nil {
		return nil, err
	}
	s.closers = append(s.closers, a.Close)
	if a.Merged() {
		s.hits = a.Hits
	}
	added := s.add(a.Events, a.Formats, a.Filter, len(plan.Sites), func(i int) (uint64, PlaceName) {
		site := &plan.Sites[i]
		return site.Offset, PlaceName{site.Event, site.Symbol}
	})
	for i := range added {
		added[i].Args, added[i].userProbe, added[i].Path = argsOf(plan.Sites, i, a.Merged()), true, plan.Path
	}
	return added, nil
}

// argsOf returns the arguments of the i-th event, or nil if it has several sites that differ.
func argsOf(sites []uprobe.Site, i int, merged bool) []ftrace.FetchArg {
	if !merged {
		return sites[i].Args
	}
	if slices.ContainsFunc(sites, func(s uprobe.Site) bool { return !slices.Equal(s.Args, sites[0].Args) }) {
		return nil
	}
	return sites[0].Args
}

// placement returns a line for each place of a plan.
func placement(plan *uprobe.Plan) []string {
	var lines []string
	for i := range plan.Sites {
		site := &plan.Sites[i]
		line := fmt.Sprintf("%s: %s, file offset %#x", site.Event, plan.Path, site.Offset)
		if site.Moved > 0 {
			line += fmt.Sprintf(", %d bytes after the function's start", site.Moved)
		}
		if site.Why != "" {
			line += ": " + site.Why
		}
		lines = append(lines, escape.Text(line))
	}
	return lines
}
