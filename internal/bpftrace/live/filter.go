package live

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/perfevent"
)

// maxFilter is the maximum length of a filter, in bytes. The kernel reads a page at most, which must also
// hold what perfevent adds to the filter.
const maxFilter = 4000

// filterSources gives the sources kernel filters for the conditions of the plan.
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

// dropFilter removes the filter of the event for which the kernel has refused it. It returns false if err
// is about no such event.
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

// translator writes conditions in the kernel's filter syntax for the records of one event. It leaves out
// comparisons that the kernel can't make, so that more hits pass.
type translator struct {
	format *ftrace.Format
	nested bool
	left   []string // what was left out
}

// words returns a condition in the kernel's filter syntax.
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
	// All hits pass b, or none does.
	if b.never == (op == "||") {
		return a
	}
	return b
}

// test returns a comparison in the kernel's filter syntax. It returns false if the kernel can't make it.
func (t *translator) test(test *plan.Test) (words, bool) {
	switch test.Header {
	case "tid":
		// The record has the thread ID in the first PID namespace.
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

// isNumber reports whether the kernel compares a field as a number.
func isNumber(field *ftrace.Field) bool {
	switch field.Size {
	case 1, 2, 4, 8:
	default:
		return false
	}
	// The kernel compares a char * field only as a text.
	return !field.Array && !field.String && field.Location == ftrace.Inline && !strings.Contains(field.Type, "char *")
}
