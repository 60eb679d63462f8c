package calls

import (
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/eventfilter"
	"github.com/ringtap/ringtap/internal/histogram"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// Values is the collector of the values that a field of a probe's records has: a
// histogram for each row.
type Values struct {
	Hits
	// Unreadable is how many hits had no value, and Unread how many had no text to compare
	// with what the user's filter asks for.
	Unreadable, Unread uint64
	// Early, unless nil, is offered the records as soon as they come: see table.Watcher.
	Early func(perfevent.Record)

	scale  histogram.Scale
	fields []*ftrace.Field // of each source
	record []byte          // that a source has made of a sample
}

// FieldError says that the records of an event have no number of a name.
type FieldError struct {
	Event  string // SYSTEM:EVENT
	Reason string
}

func (e *FieldError) Error() string { return e.Event + ": " + e.Reason }

// NewValues makes a Values of a field that all records of the hits' sources have. The error
// is a *FieldError.
func NewValues(of Hits, field string, scale histogram.Scale) (*Values, error) {
	v := &Values{Hits: of, scale: scale}
	for i := range of.Sources {
		f, err := numberField(of.Sources[i].Format, field)
		if err != nil {
			return nil, err
		}
		v.fields = append(v.fields, f)
	}
	return v, nil
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
		return nil, fail("no field " + escape.Text(name) + ": there are " + strings.Join(known, ", "))
	case field.String:
		return nil, fail("the field " + name + " is text: a histogram is of numbers")
	case field.Array || field.Location != ftrace.Inline:
		return nil, fail("the field " + name + " is an array: a histogram is of numbers")
	}
	return field, nil
}

// Plan is that of the hits, with their records.
func (v *Values) Plan() table.Plan {
	p := v.Hits.Plan()
	p.Histogram = &v.scale
	p.Metrics = []profile.Metric{{Name: v.Spec + "Count", Type: "values", Unit: "counts", Scale: 1}}
	for i := range p.Samplings {
		v.Sources[i].PrepareRecord(&p.Samplings[i])
		p.Samplings[i].Soon = v.Early != nil
	}
	return p
}

// Seen implements table.Watcher.
func (v *Values) Seen() func(perfevent.Record) { return v.Early }

// Fold counts a value.
func (v *Values) Fold(rows *table.Rows, sampling int, s *perfevent.Sample) {
	record := s.Raw
	if source := &v.Sources[sampling]; source.Record != nil {
		v.record = source.Record(v.record[:0], s)
		record = v.record
	}
	if keep := v.Sources[sampling].Keep; keep != nil {
		if answer := keep(record); answer != eventfilter.Yes {
			if answer == eventfilter.Unknown {
				v.Unread++
			}
			return
		}
	}
	value, ok := v.fields[sampling].Int(record)
	if !ok {
		v.Unreadable++
		return
	}
	row := rows.Of(s)
	rows.Add(row, 0, 1)
	rows.Observe(row, value)
}
