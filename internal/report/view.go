package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/profile"
)

// ViewOptions says how the view for a person looks. The number of rows applies to the
// functions, and the call tree has up to twice as many branches.
type ViewOptions struct {
	TableOptions
	// Color allows the escape sequences of a terminal.
	Color bool
	// Height is the terminal's height in lines. The view, Below more lines and a prompt
	// then fit on the screen. 0 stands for no limit.
	Height, Below int
	// Exact shows Top functions even if fewer would leave more room for the call tree.
	Exact bool
}

// WriteView writes the view of p for a person at a terminal: the totals, the functions
// by the metric of their own code, and the call tree. Functions are merged by name;
// WriteTables has the exact places.
//
// Text from the profiled processes is escaped. The error is one of w, or tells
// that p is inconsistent.
func WriteView(w io.Writer, p *profile.Profile, opts ViewOptions) error {
	metric, err := checkMetric(p, opts.Metric)
	if err != nil {
		return err
	}
	shown := *p
	var idle []idleTime
	shown.Rows, idle = takeIdle(p)
	shown.Rows = visibleRows(&shown, opts.TableOptions)
	shown.Frames = oneObjectAName(p)
	v := view{Profile: &shown, opts: opts, metric: metric, totals: sums(&shown), idle: idle}
	idleLines := v.idleLines()
	v.opts.Below += strings.Count(idleLines, "\n")
	v.writeTotals()
	v.writeFunctions()
	v.writeTree()
	v.out.WriteString(idleLines)
	if _, err := w.Write(v.out.Bytes()); err != nil {
		return fmt.Errorf("write view: %w", err)
	}
	return nil
}

// view is a view being written.
type view struct {
	*profile.Profile
	opts   ViewOptions
	metric int      // that shares are of
	totals []uint64 // by metric, without idle
	idle   []idleTime
	out    bytes.Buffer
}

// oneObjectAName has the frames of p with one object for those of one name, such as two
// versions of a file, which nobody could tell apart.
func oneObjectAName(p *profile.Profile) []profile.Frame {
	type identity struct {
		name           string
		kernel, labels bool
	}
	first := make(map[identity]int)
	same := make([]int, len(p.Objects))
	for i := range p.Objects {
		o := &p.Objects[i]
		id := identity{objectName(o), o.Kernel, o.Labels}
		if _, seen := first[id]; !seen {
			first[id] = i
		}
		same[i] = first[id]
	}
	frames := slices.Clone(p.Frames)
	for i := range frames {
		frames[i].Object = same[frames[i].Object]
	}
	return frames
}

// sums are the sums of a profile's metrics.
func sums(p *profile.Profile) []uint64 {
	totals := make([]uint64, len(p.Metrics))
	for i := range p.Rows {
		for m, v := range p.Rows[i].Values {
			totals[m] += v
		}
	}
	return totals
}

// writeTotals writes what was recorded, when, and for how long.
func (v *view) writeTotals() {
	const noBreak = "\u00a0" // between a number and what it counts
	together := func(text string) string { return strings.ReplaceAll(text, " ", noBreak) }
	line := escape.Text(v.Collector) + ": " + together(amount(v.totals, v.Metrics, v.metric))
	if v.CPUTime > 0 {
		line += fmt.Sprintf(" (%s by the kernel's count)", together(short(v.CPUTime.Round(time.Millisecond))))
	}
	for i := range v.Metrics {
		if i != v.metric && (v.totals[i] > 0 || v.Metrics[i].Share != nil) {
			line += ", " + together(amount(v.totals, v.Metrics, i))
		}
	}
	line += " " + together("in "+short(v.Duration.Round(time.Millisecond)))
	from := " from " + v.Start.Format(time.RFC3339)
	if left := v.opts.Width - twwidth.Width(line); v.opts.Width > 0 && twwidth.Width(from) > left {
		from = " from " + v.Start.Format("15:04:05")
		if twwidth.Width(from) > left {
			from = ""
		}
	}
	fmt.Fprintln(&v.out, v.style(bold, strings.ReplaceAll(wrap(line+from, " ", v.opts.Width), noBreak, " ")))
}

// cell is text in a color.
type cell struct {
	text  string
	style style
}

// writeColumns writes rows of cells under their headings: all columns but the last
// are aligned to the right, and the last loses its middle where the line is too long.
func (v *view) writeColumns(rows [][]cell) {
	last := len(rows[0]) - 1
	widths := make([]int, last)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], twwidth.Width(row[i].text))
		}
	}
	for _, row := range rows {
		used := 0
		for i, width := range widths {
			gap := strings.Repeat(" ", width-twwidth.Width(row[i].text))
			v.out.WriteString(gap + v.style(row[i].style, row[i].text) + "  ")
			used += width + 2
		}
		v.out.WriteString(v.style(row[last].style, shorten(row[last].text, v.left(used))) + "\n")
	}
}

// left is how many columns a line has left; 0 for no limit.
func (v *view) left(used int) int {
	if v.opts.Width <= 0 {
		return 0
	}
	return max(v.opts.Width-used, leastName)
}

// Columns that a name gets: the least, and what a whole name most often takes.
const (
	leastName = 24
	goodRoom  = 40
)

// style is what a part of the view looks like where colors are allowed.
type style string

const (
	regular style = ""
	bold    style = "1"
	faint   style = "2"
	hotly   style = "31" // red, as perf report has shares of 5% and more
	mild    style = "32" // green, of 0.5% and more
)

// style writes text in a style. A style ends where a line ends.
func (v *view) style(s style, text string) string {
	if !v.opts.Color || s == regular || text == "" {
		return text
	}
	const end = "\x1b[0m"
	begin := "\x1b[" + string(s) + "m"
	return begin + strings.ReplaceAll(text, "\n", end+"\n"+begin) + end
}

// heat is the style of a share, by perf report's bounds.
func (v *view) heat(count uint64) style {
	switch share := 100 * float64(count) / float64(max(v.totals[v.metric], 1)); {
	case share >= 5:
		return hotly
	case share >= 0.5:
		return mild
	}
	return regular
}

// share is a count's share of the total.
func (v *view) share(count uint64) cell {
	return cell{tenths(count, v.totals[v.metric]), v.heat(count)}
}

// tenths is a share in percent with one digit behind the point, for columns.
func tenths(part, whole uint64) string {
	share := 100 * float64(part) / float64(max(whole, 1))
	if part > 0 && share < 0.05 {
		return "<0.1%"
	}
	return fmt.Sprintf("%.1f%%", share)
}

// functionName names a function with the object that holds it. An interpreted function has
// its file in its name.
func functionName(p *profile.Profile, l *level) string {
	if l.kind == unknown || l.object < 0 {
		return l.name
	}
	object := &p.Objects[l.object]
	if object.Runtime != "" && strings.HasSuffix(l.name, ")") {
		return l.name
	}
	return l.name + " (" + objectName(object) + ")"
}

// lines is how many lines the screen has left; at least the given number. Without a limit
// it is 0.
func (v *view) lines(atLeast int) int {
	if v.opts.Height <= 0 {
		return 0
	}
	const prompt = 1
	return max(v.opts.Height-prompt-v.opts.Below-bytes.Count(v.out.Bytes(), []byte("\n")), atLeast)
}

// levelsOf calls f for the levels of each row.
func (v *view) levelsOf(f func(levels []level, values []uint64)) {
	l := newLeveler(v.Profile, v.opts.Inlines)
	var levels []level
	for i := range v.Rows {
		levels = l.row(levels[:0], &v.Rows[i])
		f(levels, v.Rows[i].Values)
	}
}

// inclusive adds up, for each function and label, the rows that have it anywhere.
func (v *view) inclusive() map[level]uint64 {
	totals := make(map[level]uint64)
	v.levelsOf(func(levels []level, values []uint64) {
		for n, l := range levels {
			if l.kind != process && l.kind != cut && !slices.Contains(levels[:n], l) {
				totals[l] += values[v.metric]
			}
		}
	})
	return totals
}
