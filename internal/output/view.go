package output

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// ViewOptions configure the terminal view. Top limits the functions, and the call tree has up to
// twice as many branches.
type ViewOptions struct {
	TableOptions
	// Color allows terminal escape sequences.
	Color bool
	// Height is the terminal's height in lines, or 0 for no limit. The view, Below more lines and a
	// prompt then fit on the screen.
	Height, Below int
	// Exact shows Top functions even if that leaves less room for the call tree.
	Exact bool
}

// WriteView writes p for a person at a terminal: the totals, the functions ranked by their own
// code, and the call tree. Functions are merged by name. WriteTables has the exact places.
//
// Text from profiled processes is escaped. The error is one of w, or says that p is inconsistent.
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

// view is the state of one call of WriteView.
type view struct {
	*profile.Profile
	opts   ViewOptions
	metric int      // the metric that shares refer to
	totals []uint64 // by metric, without idle
	idle   []idleTime
	out    bytes.Buffer
}

// oneObjectAName returns the frames of p with objects merged by name. Two versions of a file, for
// example, could not be told apart in the view.
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

// sums returns the sums of a profile's metrics.
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
	if v.Duration > 0 {
		line += " " + together("in "+short(v.Duration.Round(time.Millisecond)))
	}
	from := startText(v.Profile, " from "+time.RFC3339)
	if left := v.opts.Width - twwidth.Width(line); v.opts.Width > 0 && twwidth.Width(from) > left {
		from = startText(v.Profile, " from 15:04:05")
		if twwidth.Width(from) > left {
			from = ""
		}
	}
	fmt.Fprintln(&v.out, v.style(bold, strings.ReplaceAll(wrap(line+from, " ", v.opts.Width), noBreak, " ")))
}

// cell is text in a style.
type cell struct {
	text  string
	style style
}

// writeColumns writes rows of cells, headings first. All columns but the last are right-aligned.
// The last one loses its middle if the line is too long.
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

// left returns how many columns of a line remain, or 0 for no limit.
func (v *view) left(used int) int {
	if v.opts.Width <= 0 {
		return 0
	}
	return max(v.opts.Width-used, leastName)
}

// The width of a name in columns: the minimum, and enough for most names.
const (
	leastName = 24
	goodRoom  = 40
)

// style is an ANSI style of a part of the view, if colors are allowed.
type style string

const (
	regular style = ""
	bold    style = "1"
	faint   style = "2"
	hotly   style = "31" // red for 5% and more, like perf report
	mild    style = "32" // green for 0.5% and more
)

// style returns text in a style. The style ends before each newline and starts again after it.
func (v *view) style(s style, text string) string {
	if !v.opts.Color || s == regular || text == "" {
		return text
	}
	const end = "\x1b[0m"
	begin := "\x1b[" + string(s) + "m"
	return begin + strings.ReplaceAll(text, "\n", end+"\n"+begin) + end
}

// heat returns the style of a share, with perf report's limits.
func (v *view) heat(count uint64) style {
	switch share := 100 * float64(count) / float64(max(v.totals[v.metric], 1)); {
	case share >= 5:
		return hotly
	case share >= 0.5:
		return mild
	}
	return regular
}

// share returns a count's share of the total.
func (v *view) share(count uint64) cell {
	return cell{tenths(count, v.totals[v.metric]), v.heat(count)}
}

// tenths formats a share in percent with one digit after the decimal point, for columns.
func tenths(part, whole uint64) string {
	share := 100 * float64(part) / float64(max(whole, 1))
	if part > 0 && share < 0.05 {
		return "<0.1%"
	}
	return fmt.Sprintf("%.1f%%", share)
}

// functionName returns a function with its object. The name of an interpreted function already
// contains its file.
func functionName(p *profile.Profile, l *level) string {
	if l.kind == unknown || l.object < 0 {
		return l.name
	}
	object := &p.Objects[l.object]
	if object.Runtime != "" && strings.HasSuffix(l.name, ")") {
		return l.name
	}
	if object.Path == "" || strings.HasPrefix(l.name, unknownIn) {
		return l.name
	}
	return l.name + " (" + objectName(object) + ")"
}

// lines returns how many lines of the screen remain, but at least atLeast. It returns 0 if there is
// no limit.
func (v *view) lines(atLeast int) int {
	if v.opts.Height <= 0 {
		return 0
	}
	const prompt = 1
	return max(v.opts.Height-prompt-v.opts.Below-bytes.Count(v.out.Bytes(), []byte("\n")), atLeast)
}

// inclusive returns, for each function and label, the sum of all rows that contain it.
func (v *view) inclusive() map[level]uint64 {
	l := newLeveler(v.Profile, v.opts.Inlines)
	type sum struct {
		count uint64
		row   int // the last one that was added, from 1
	}
	var sums []sum // by index of a level
	var path []int32
	for i := range v.Rows {
		path = l.indexes(path[:0], &v.Rows[i])
		sums = append(sums, make([]sum, len(l.all)-len(sums))...)
		for _, at := range path {
			if s := &sums[at]; s.row != i+1 { // else it calls itself
				s.count, s.row = s.count+v.Rows[i].Values[v.metric], i+1
			}
		}
	}
	totals := make(map[level]uint64, len(sums))
	for at, s := range sums {
		if kind := l.all[at].kind; kind != process && kind != cut {
			totals[l.all[at]] = s.count
		}
	}
	return totals
}
