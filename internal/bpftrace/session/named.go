package session

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
)

// unexpected returns an error that lists the given options that the program does not have, and the
// ones that it has. --help causes it too. It returns nil if the program has all of them.
func (s *session) unexpected() error {
	if !s.opts.Strict {
		return nil
	}
	known := s.checked.Options
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(s.opts.Named)) {
		if !s.mentions(name) {
			wrong = append(wrong, "--"+name)
		}
	}
	switch {
	case len(wrong) == 0:
		return nil
	case len(known) == 0:
		return fmt.Errorf("the program takes no option %s", strings.Join(wrong, ", "))
	}
	var text strings.Builder
	if len(wrong) > 1 || wrong[0] != "--help" {
		fmt.Fprintf(&text, "the program has no option %s; ", strings.Join(wrong, ", "))
	}
	text.WriteString("the program's options are:")
	listed := map[string]bool{}
	for _, o := range known {
		if !listed[o.Name] {
			listed[o.Name] = true
			fmt.Fprintf(&text, "\n  --%s=%s\t%s", o.Name, o.Default, o.Help)
		}
	}
	return errors.New(strings.ReplaceAll(text.String(), "\t\n", "\n"))
}

// mentions reports whether the program's text contains a word in quotes. It may be an option that
// is used only in branches for other hosts.
func (s *session) mentions(word string) bool {
	return slices.ContainsFunc(s.parsed.Sources, func(text syntax.Source) bool { return strings.Contains(text.Text, `"`+word+`"`) })
}
