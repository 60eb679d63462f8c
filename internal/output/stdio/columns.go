package stdio

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/text/escape"
)

// column is a column of the table.
type column struct {
	heading string
	width   int
	number  bool // aligned to the right
	ragged  bool // cells of the last column are not padded
	cell    func(*entry) string
}

// Widths of numbers.
const (
	percentWidth = 8
	samplesWidth = 12
)

// columns returns the columns of the table. Each is as wide as its widest cell.
func (t *table) columns() []column {
	percent := func(period func(*entry) uint64) func(*entry) string {
		return func(e *entry) string { return fmt.Sprintf("%.2f%%", percentOf(period(e), t.total)) }
	}
	self := percent(func(e *entry) uint64 { return e.self })
	all := []column{{heading: "Overhead", width: percentWidth, number: true, cell: self}}
	if t.opts.Children {
		all[0].heading, all[0].cell = "Children", percent(func(e *entry) uint64 { return e.children })
		all = append(all, column{heading: "Self", width: percentWidth, number: true, cell: self})
	}
	if t.opts.Samples {
		all = append(all, column{heading: "Samples", width: samplesWidth, number: true,
			cell: func(e *entry) string { return strconv.FormatUint(e.samples, 10) }})
	}
	for _, k := range t.opts.Keys {
		all = append(all, t.column(k))
	}
	return all
}

func percentOf(part, whole uint64) float64 {
	if whole == 0 {
		return 0
	}
	return 100 * float64(part) / float64(whole)
}

// column returns the column of a key.
func (t *table) column(k Key) column {
	c := column{heading: k.heading(), width: len(k.heading())}
	switch k {
	case Comm:
		c.cell = func(e *entry) string { return escape.Text(e.comm) }
	case DSO:
		c.cell = func(e *entry) string { return escape.Text(e.dso) }
	case CPU:
		c.cell = func(e *entry) string { return cpu(e.cpu) }
		return c // perf does not make it wider
	case Thread:
		c.cell = func(e *entry) string {
			return fmt.Sprintf("%7d:%s", e.tid, escape.Text(t.opts.Threads[uint32(e.tid)]))
		}
	case Symbol:
		c.ragged = true
		c.cell = func(e *entry) string { return escape.Text(t.functions.all[e.function].String()) }
	}
	for _, e := range t.entries {
		c.width = max(c.width, len(c.cell(e)))
	}
	return c
}

// cpu returns the number of a CPU, in at least three digits after its sign.
func cpu(n int) string {
	if n < 0 {
		return fmt.Sprintf("-%03d", -n)
	}
	return fmt.Sprintf("%03d", n)
}

// writeHeadings writes the headings.
func (t *table) writeHeadings(b *strings.Builder, columns []column) {
	var headings, dots []string
	for _, c := range columns {
		heading := fmt.Sprintf("%-*s", c.width, c.heading)
		if c.number {
			heading = fmt.Sprintf("%*s", c.width, c.heading)
		}
		headings, dots = append(headings, heading), append(dots, strings.Repeat(".", c.width))
	}
	if t.opts.Separator != "" {
		fmt.Fprintf(b, "# %s\n", strings.Join(headings, t.opts.Separator))
		return
	}
	fmt.Fprintf(b, "# %s\n# %s\n#\n", strings.Join(headings, gap), strings.Join(dots, gap))
}

// gap comes before a column if there is no separator.
const gap = "  "

// writeEntry writes the line of an entry.
func (t *table) writeEntry(b *strings.Builder, columns []column, e *entry) {
	separator := t.opts.Separator
	for i := range columns {
		c := &columns[i]
		text := c.cell(e)
		switch {
		case separator == "":
			b.WriteString(gap)
		case i > 0:
			b.WriteString(separator)
		}
		switch {
		case !c.number && separator != "":
			text = strings.ReplaceAll(text, separator, ".")
		case c.number && separator != "":
			text = " " + text
		case c.number:
			text = fmt.Sprintf("%*s", c.width, text)
		}
		b.WriteString(text)
		if i < len(columns)-1 || !c.ragged {
			b.WriteString(strings.Repeat(" ", max(0, c.width-len(text))))
		}
	}
	b.WriteByte('\n')
}
