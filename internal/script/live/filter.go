package live

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/script/plan"
	"github.com/ringtap/ringtap/perfevent"
)

// maxFilter is the longest filter, bytes: the kernel reads a page, and what perfevent puts around it
// must be in it, too.
const maxFilter = 4000

// filterSources has the kernel filter the hits of the sources by what the plan says.
func (a *Attachment) filterSources() {
	for _, s := range a.sources {
		if s.event.Filter == nil || s.probe == nil {
			continue
		}
		if s.probe.Filter != "" {
			a.Unfiltered = append(a.Unfiltered, fmt.Sprintf("%s: this way of probing has a filter of its own", s.name))
			continue
		}
		f := translator{format: s.probe.Format, nested: a.options.Nested}
		filter := f.words(s.event.Filter).text
		if len(filter) > maxFilter {
			f.left, filter = append(f.left, "the rest, which is too long"), ""
		}
		if len(f.left) > 0 {
			a.Unfiltered = append(a.Unfiltered, fmt.Sprintf("%s: the kernel can't compare %s", s.name, strings.Join(f.left, ", ")))
		}
		s.probe.Filter, s.sample.Filter = filter, filter
	}
}

// dropFilter takes back the filter of an event that the kernel has refused it for. It returns false
// if there is none.
func (f *feed) dropFilter(err error) bool {
	var refused *perfevent.OpenError
	if !errors.As(err, &refused) {
		return false
	}
	dropped := false
	for _, s := range f.sources {
		if s.event.Filter != nil && s.sample.Filter != "" && s.sample.Event.String() == refused.Event {
			f.Unfiltered = append(f.Unfiltered, fmt.Sprintf("%s: %v", s.name, refused.Err))
			s.probe.Filter, s.sample.Filter = "", ""
			dropped = true
		}
	}
	return dropped
}

// translator writes conditions in the kernel's words for the records of one event. It leaves out
// what the kernel can't compare, so that more passes.
type translator struct {
	format *ftrace.Format
	nested bool
	left   []string // what was left out
}

// words is a condition in the kernel's words.
func (t *translator) words(c *plan.Condition) words {
	if c.Op == "" {
		w, ok := t.test(&c.Test)
		if !ok && !slices.Contains(t.left, c.Test.String()) {
			t.left = append(t.left, c.Test.String())
		}
		return w
	}
	result := constant(c.Op == "&&")
	for i, of := range c.Of {
		w := t.words(of)
		if i == 0 {
			result = w
		} else {
			result = join(c.Op, result, w)
		}
	}
	return result
}

// join joins two filters.
func join(op string, a, b words) words {
	if a.text != "" && b.text != "" {
		return words{text: "(" + a.text + ") " + op + " (" + b.text + ")"}
	}
	if b.text != "" {
		a, b = b, a
	}
	// b is met by all hits, or by none.
	if b.never == (op == "||") {
		return a
	}
	return b
}

// test is a comparison in the kernel's words. It is false if there are none.
func (t *translator) test(test *plan.Test) (words, bool) {
	switch test.Header {
	case "tid":
		// The record has the number in the first namespace.
		if t.nested {
			return words{}, false
		}
		return number{name: test.Name(), bits: 32, signed: true, positive: true}.compare(test)
	case "cpu":
		return number{name: test.Name(), bits: 32, signed: true, positive: true, whole: true}.compare(test)
	case "comm":
		return words{text: fmt.Sprintf(`%s %s "%s"`, test.Name(), test.Op, test.Text)}, true
	}
	field := t.format.Field(test.Field)
	if field == nil {
		return words{}, false
	}
	if test.IsText {
		fits := field.Location != ftrace.Inline || len(test.Text) < field.Size
		return words{text: fmt.Sprintf(`%s %s "%s"`, test.Field, test.Op, test.Text)}, field.String && fits
	}
	if !isNumber(field) {
		return words{}, false
	}
	return number{name: test.Field, bits: 8 * field.Size, signed: field.Signed}.compare(test)
}

// isNumber tells whether the kernel compares a field as a number.
func isNumber(field *ftrace.Field) bool {
	switch field.Size {
	case 1, 2, 4, 8:
	default:
		return false
	}
	// The kernel compares what points to characters as text alone.
	return !field.Array && !field.String && field.Location == ftrace.Inline && !strings.Contains(field.Type, "char *")
}
