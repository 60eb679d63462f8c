package hist

import (
	"strings"

	"github.com/ringtap/ringtap/internal/cli/usage"
	"github.com/ringtap/ringtap/internal/probe"
)

// spec says what hist measures, as the user wrote it.
type spec struct {
	*probe.Spec
	field string // of the tracepoint's records
	value bool   // an argument or field is measured, not the time of calls
}

// parse parses the specification.
func (o *Options) parse() (*spec, error) {
	text := o.Spec
	kind, definition := probe.CutKind(text)
	words := strings.Fields(definition)
	switch {
	case len(words) == 0:
		return nil, usage.Errorf("%q names nothing to measure", text)
	case kind == 't', kind == 0 && len(words) == 2 && probe.IsTracepoint(words[0]):
		return parseTracepoint(text, words)
	}
	parsed, err := probe.Parse(text, o.View)
	if err != nil {
		return nil, err
	}
	switch {
	case parsed.Arguments > 1:
		return nil, usage.Errorf("%s: a histogram takes one argument", text)
	case parsed.Arguments == 1:
		return &spec{Spec: parsed, value: true}, nil
	case parsed.Kind == 'u':
		return nil, usage.Errorf("%s: a USDT probe takes no time; name one of its arguments, such as arg1, to count its values", text)
	case !parsed.Whole:
		return nil, usage.Errorf("%s: only whole functions can be timed; name an argument to count its values there", text)
	}
	return &spec{Spec: parsed}, nil
}

// parseTracepoint parses a tracepoint and its field.
func parseTracepoint(text string, words []string) (*spec, error) {
	if strings.Count(words[0], ":") != 1 {
		return nil, usage.Errorf("%q is not a tracepoint: SYSTEM:EVENT", words[0])
	}
	switch len(words) {
	case 1:
		return nil, usage.Errorf("%s takes no time: add the field to count after the name", words[0])
	case 2:
		return &spec{Spec: &probe.Spec{Text: text, Place: probe.Tracepoint, Probe: words[0]}, field: words[1], value: true}, nil
	}
	return nil, usage.Errorf("%s: a histogram takes one field", text)
}
