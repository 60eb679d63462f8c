package hist

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtap/ringtap/internal/collect/calls"
	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profile/histogram"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/internal/trace/histtrigger"
)

// printer prints windows.
type printer struct {
	*Options
	subject *subject
}

// greet writes the line before the first histogram.
func (p *printer) greet() error {
	if p.JSON {
		return nil
	}
	what := "the time of"
	if p.subject.field != "" {
		what = "the values of"
	}
	end := "... Ctrl-C to end."
	if p.Duration > 0 {
		end = " for " + strconv.FormatFloat(p.Duration.Seconds(), 'g', -1, 64) + " seconds..."
	}
	_, err := fmt.Fprintf(p.Out, "Tracing %s %s%s\n", what, escape.Text(p.subject.describe()), end)
	return err
}

// leave writes the last line.
func (p *printer) leave() error {
	if p.JSON {
		return nil
	}
	_, err := fmt.Fprint(p.Out, "\nEnding tracing...\n")
	return err
}

// window is what was counted in one window.
type window struct {
	end  time.Time
	rows []entry // those with the fewest values first
	rest int     // number of rows that are left out: see Options.Top
}

// entry is a histogram, and what it is about.
type entry struct {
	function  int      // index into subject.functions
	stack     []string // leaf first; nil without Options.ByStack
	cut       bool     // the stack is deeper than its copy
	histogram *histogram.Histogram

	user, kernel int // indexes of the stacks in the profile
}

// counted prints a window that the kernel has counted.
func (p *printer) counted(w *histtrigger.Window) error {
	window := &window{end: w.End}
	if w.Histogram != nil {
		window.rows = []entry{{histogram: w.Histogram}}
	}
	return p.print(window)
}

// profiled prints the histograms of a profile, merged over all processes. Each collector of the
// profile measures one function.
func (p *printer) profiled(prof *profile.Profile) error {
	type place struct{ function, user, kernel int }
	rows := make(map[place]*entry)
	for i := range prof.Rows {
		row := &prof.Rows[i]
		for j, h := range row.Histograms {
			if h == nil {
				continue
			}
			at := place{p.subject.indexes[j], row.User, row.Kernel}
			if rows[at] == nil {
				rows[at] = &entry{function: at.function, histogram: histogram.New(h.Scale()), user: at.user, kernel: at.kernel}
			}
			rows[at].histogram.Merge(h)
		}
	}
	w := &window{end: prof.Start.Add(prof.Duration)}
	for _, row := range rows {
		w.rows = append(w.rows, *row)
	}
	slices.SortFunc(w.rows, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.histogram.Count(), b.histogram.Count()), a.function-b.function, a.user-b.user, a.kernel-b.kernel)
	})
	if p.ByStack && len(w.rows) > p.Top {
		w.rest = len(w.rows) - p.Top
		w.rows = w.rows[w.rest:]
	}
	for i := range w.rows {
		w.rows[i].name(prof)
	}
	return p.print(w)
}

// name fills in a row's stack: kernel frames first, then user frames.
func (r *entry) name(prof *profile.Profile) {
	for _, i := range []int{r.kernel, r.user} {
		if i == profile.None {
			continue
		}
		s := &prof.Stacks[i]
		r.cut = r.cut || s.Truncated
		for _, f := range slices.Backward(s.Frames) {
			r.stack = append(r.stack, prof.Frames[f].String())
		}
	}
}

// print prints a window.
func (p *printer) print(w *window) error {
	if p.JSON {
		return p.printJSON(w)
	}
	var text []byte
	if p.Times {
		text = fmt.Appendf(text, "\n%s", w.end.Format(time.TimeOnly))
	}
	if w.rest > 0 {
		text = fmt.Appendf(text, "\n%d stacks with fewer values are left out (-t)\n", w.rest)
	}
	for i := range w.rows {
		text = p.appendRow(text, &w.rows[i])
	}
	if len(w.rows) == 0 {
		text = append(text, "\nnothing was counted\n"...)
	}
	_, err := p.Out.Write(text)
	return err
}

// appendRow appends a histogram with its title and stack.
func (p *printer) appendRow(dst []byte, row *entry) []byte {
	name, unit := escape.Text(p.subject.functions[row.function]), ""
	if p.subject.field == "" {
		_, unit = unitOf(p.Unit)
		unit = " " + unit
		name += "," + unit
	}
	dst = fmt.Appendf(dst, "\n%s:\n", name)
	for _, frame := range row.stack {
		dst = fmt.Appendf(dst, " => %s\n", escape.Text(frame))
	}
	if row.cut {
		dst = append(dst, " => [truncated]\n"...)
	}
	return appendBars(dst, row.histogram, unit)
}

// appendBars appends the buckets of a histogram, and the summary line of bcc's tools.
func appendBars(dst []byte, h *histogram.Histogram, unit string) []byte {
	return fmt.Appendf(h.Append(dst), "\navg = %d%s, total: %d%s, count: %d\n", h.Mean(), unit, h.Total(), unit, h.Count())
}

// WriteTimes writes a histogram for each collector of calls in a profile, merged over all rows.
func WriteTimes(w io.Writer, p *profile.Profile, collectors []table.Collector) error {
	for i, collector := range collectors {
		c, ok := collector.(*calls.Calls)
		if !ok || c.Histogram == nil {
			continue
		}
		h := histogram.New(*c.Histogram)
		for _, row := range p.Rows {
			if row.Histograms != nil && row.Histograms[i] != nil {
				h.Merge(row.Histograms[i])
			}
		}
		if _, err := w.Write(appendBars(fmt.Appendf(nil, "\n%s, nsecs:\n", escape.Text(c.Spec)), h, " nsecs")); err != nil {
			return err
		}
	}
	return nil
}

// account writes which calls and hits are in no histogram.
func (p *printer) account(collectors []table.Collector, result *profiler.Result) {
	var a calls.CallAccount
	var unreadable, unread, lost, counted, unkept uint64
	for i, c := range collectors {
		switch c := c.(type) {
		case *calls.Calls:
			a.Add(c.Account())
		case *calls.Values:
			unreadable, unread = unreadable+c.Unreadable, unread+c.Unread
		}
		account := &result.Accounts[i]
		lost, counted, unkept = lost+account.Lost, counted+account.Counted, unkept+account.Unkept
	}
	left := a.Phrases("", "")
	for _, hits := range []struct {
		n   uint64
		had string
	}{{unreadable, "no value"}, {unread, "no text to compare: its memory was gone"}} {
		switch hits.n {
		case 0:
		case 1:
			left = append(left, "1 hit had "+hits.had)
		default:
			left = append(left, fmt.Sprintf("%d hits had %s", hits.n, hits.had))
		}
	}
	if len(left) > 0 {
		fmt.Fprintf(p.Stderr, "not in the histogram: %s\n", strings.Join(left, "; "))
	}
	if lost > 0 {
		fmt.Fprintf(p.Stderr, "lost %d of %d hits, which came faster than ringtap could read them\n", lost, counted)
	}
	if unkept > 0 {
		fmt.Fprintf(p.Stderr, "%d values have no stack, because there was no memory for more stacks\n", unkept)
	}
	for _, note := range result.Notes {
		fmt.Fprintln(p.Stderr, note)
	}
}
