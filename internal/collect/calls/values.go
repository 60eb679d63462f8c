package calls

import (
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/probe/eventfilter"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profile/histogram"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/perfevent"
)

// Values is the collector of the values of one field in a probe's records. Each row has a
// histogram.
type Values struct {
	Hits
	// Unreadable counts hits without a value. Unread counts hits without the text that the user's
	// filter compares.
	Unreadable, Unread uint64
	// Early, unless nil, gets the records as soon as they are read: see table.Watcher.
	Early func(perfevent.Record)

	scale  histogram.Scale
	fields []*ftrace.Field // one per source
	record []byte          // record that a source has made of a sample
}

// FieldError is returned when an event's records have no number with the given name.
type FieldError struct {
	event  string // SYSTEM:EVENT
	Reason string
}

func (e *FieldError) Error() string { return e.event + ": " + e.Reason }

// NewValues returns a Values of field, which all sources of hits must have. The error is a
// *FieldError.
func NewValues(hits Hits, field string, scale histogram.Scale) (*Values, error) {
	v := &Values{Hits: hits, scale: scale}
	for i := range hits.Sources {
		f, err := numberField(hits.Sources[i].Format, field)
		if err != nil {
			return nil, err
		}
		v.fields = append(v.fields, f)
	}
	return v, nil
}

// numberField returns the numeric field of a format.
func numberField(format *ftrace.Format, name string) (*ftrace.Field, error) {
	fail := func(reason string) error {
		return &FieldError{event: format.System + ":" + format.Name, Reason: reason}
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

// Plan returns the plan of Hits, with the records that have the field.
func (v *Values) Plan() table.Plan {
	p := v.Hits.Plan()
	p.Histogram = &v.scale
	p.Metrics = []profile.Metric{{Name: v.Spec + "Count", Type: "values", Unit: "counts", Scale: 1}}
	for i := range p.Samplings {
		v.Sources[i].PrepareRecord(&p.Samplings[i])
		p.Samplings[i].WakeupEvents = 0
		if v.Early != nil {
			p.Samplings[i].WakeupEvents = 1
		}
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
