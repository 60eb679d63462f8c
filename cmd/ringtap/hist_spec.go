package main

import (
	"strings"

	"github.com/ringtap/ringtap/internal/probe"
)

// histSpec is what hist measures, as its user wrote it.
type histSpec struct {
	*probe.Spec
	field string // of a tracepoint
	value bool   // an argument or a field is measured, and not the time of calls
}

// parseSpec reads a specification. Its errors are usageErrors except where files
// had to be read.
func (h *histFlags) parseSpec(text string) (*histSpec, error) {
	kind, definition := probe.CutKind(text)
	words := strings.Fields(definition)
	switch {
	case len(words) == 0:
		return nil, usagef("%q names nothing to measure", text)
	case kind == 't', kind == 0 && len(words) == 2 && probe.IsTracepoint(words[0]):
		return parseTracepoint(text, words)
	}
	spec, err := probe.Parse(text, h.seen)
	if err != nil {
		return nil, wrongSpec(err)
	}
	switch {
	case spec.Arguments > 1:
		return nil, usagef("%s: a histogram takes one argument", text)
	case spec.Arguments == 1:
		return &histSpec{Spec: spec, value: true}, nil
	case spec.Kind == 'u':
		return nil, usagef("%s: a USDT probe takes no time; name one of its arguments, such as arg1, to count its values", text)
	case !spec.Whole:
		return nil, usagef("%s: only whole functions can be timed; name an argument to count its values there", text)
	}
	return &histSpec{Spec: spec}, nil
}

// parseTracepoint takes a tracepoint and its field.
func parseTracepoint(text string, words []string) (*histSpec, error) {
	if strings.Count(words[0], ":") != 1 {
		return nil, usagef("%q is not a tracepoint: SYSTEM:EVENT", words[0])
	}
	switch len(words) {
	case 1:
		return nil, usagef("%s takes no time: add the field to count after the name", words[0])
	case 2:
		return &histSpec{Spec: &probe.Spec{Text: text, Place: probe.Tracepoint, Probe: words[0]}, field: words[1], value: true}, nil
	}
	return nil, usagef("%s: a histogram takes one field", text)
}
