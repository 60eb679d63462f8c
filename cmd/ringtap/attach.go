package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/cli/usage"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/text/match"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/uprobe"
)

// attach opens the probes that specs describe and prints the notes about them.
func attach(out *console, specs []*probe.Spec, o probe.Options) (*probe.Set, error) {
	set, err := probe.OpenAll(specs, o)
	for _, note := range set.Notes {
		out.note(note)
	}
	return set, wrongSpec(err)
}

// definitions splits args into the probe definitions at the start and the filter that may
// follow. example is a definition for the error message.
func definitions(args []string, example string) (texts []string, filter string, err error) {
	isDefinition := func(text string) bool {
		return len(text) > 1 && strings.ContainsRune("pru", rune(text[0])) && strings.ContainsAny(text[1:2], ":0123456789")
	}
	for i, arg := range args {
		switch {
		case i == 0 || isDefinition(arg):
			texts = append(texts, arg)
		case i == len(args)-1:
			filter = arg
		default:
			return nil, "", usagef("unexpected argument %q: want definitions and then a filter, each in one pair of quotes", args[i+1])
		}
	}
	if len(texts) == 0 {
		return nil, "", usagef("give a definition, such as %s", example)
	}
	return texts, filter, nil
}

// wrongSpec turns errors that the command line caused into usage errors, and adds hints to
// some others.
func wrongSpec(err error) error {
	var missing *probe.TracepointError
	switch {
	case errors.As(err, new(*ftrace.SyntaxError)), errors.As(err, new(*ftrace.DefinitionError)),
		errors.As(err, new(*ftrace.FilterError)), errors.As(err, new(*probe.PatternError)),
		errors.As(err, new(*match.GlobError)):
		return &usage.Error{Err: err}
	case errors.As(err, new(*uprobe.TooManyError)), errors.As(err, new(*kprobe.TooManyError)):
		return fmt.Errorf("%w; --limit allows more", err)
	case errors.As(err, &missing):
		if near := match.Near(missing.Name, missing.Known); near != nil {
			return fmt.Errorf("%w; %s", err, match.DidYouMean(near))
		}
		return fmt.Errorf("%w: see ringtap tpoint -l", err)
	}
	return err
}
