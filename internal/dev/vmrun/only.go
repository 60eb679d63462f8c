package main

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// onlyPatterns reads a list of tests. Each line has an import path, a space, and the name of a
// test or subtest. It returns by package the patterns for -test.run that select just these
// tests, with their subtests. Subtests with the same parent share a pattern, and so do
// top-level tests.
func onlyPatterns(text string) (map[string][]string, error) {
	type group struct{ pkg, parent string }
	names := map[group][]string{}
	var groups []group // in the order of the list
	for line := range strings.Lines(text) {
		pkg, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || pkg == "" || name == "" {
			return nil, fmt.Errorf("%q is not a package and a test", line)
		}
		parent, last := path.Split(name)
		g := group{pkg, parent}
		if names[g] == nil {
			groups = append(groups, g)
		}
		names[g] = append(names[g], regexp.QuoteMeta(last))
	}
	if len(groups) == 0 {
		return nil, errors.New("no test is listed")
	}
	patterns := map[string][]string{}
	for _, g := range groups {
		var levels []string
		for level := range strings.SplitSeq(strings.Trim(g.parent, "/"), "/") {
			if level != "" {
				levels = append(levels, "^"+regexp.QuoteMeta(level)+"$")
			}
		}
		levels = append(levels, "^("+strings.Join(slices.Compact(names[g]), "|")+")$")
		patterns[g.pkg] = append(patterns[g.pkg], strings.Join(levels, "/"))
	}
	return patterns, nil
}
