package session

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/script/syntax"
)

// unexpected says which of the options that were given are none of the program's, and what these are; --help
// asks for that. It is nil if all are the program's.
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

// mentions tells whether the program's text has a word in quotes: it may be an option that this host's
// branches of the program do not ask for.
func (s *session) mentions(word string) bool {
	return slices.ContainsFunc(s.parsed.Sources, func(text syntax.Source) bool { return strings.Contains(text.Text, `"`+word+`"`) })
}
