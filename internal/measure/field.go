package measure

import (
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/visible"
)

// FieldError says that the records of an event have no number of a name.
type FieldError struct {
	Event  string // SYSTEM:EVENT
	Reason string
}

func (e *FieldError) Error() string { return e.Event + ": " + e.Reason }

// findValues finds the field of each source whose values are counted.
func (m *meter) findValues() error {
	if m.opts.Value == "" {
		return nil
	}
	for i := range m.opts.Sources {
		field, err := numberField(m.opts.Sources[i].Format, m.opts.Value)
		if err != nil {
			return err
		}
		m.values = append(m.values, field)
	}
	return nil
}

// numberField finds the field of a format that is a number.
func numberField(format *ftrace.Format, name string) (*ftrace.Field, error) {
	fail := func(reason string) error {
		return &FieldError{Event: format.System + ":" + format.Name, Reason: reason}
	}
	field := format.Field(name)
	switch {
	case field == nil:
		var known []string
		for i := range format.Fields {
			if !format.Fields[i].Common {
				known = append(known, format.Fields[i].Name)
			}
		}
		return nil, fail("no field " + visible.Text(name) + ": there are " + strings.Join(known, ", "))
	case field.String:
		return nil, fail("the field " + name + " is text: a histogram is of numbers")
	case field.Array || field.Location != ftrace.Inline:
		return nil, fail("the field " + name + " is an array: a histogram is of numbers")
	}
	return field, nil
}
