package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/ringtap/ringtap/internal/escape"
)

// writeFunctions writes the functions with the most of the metric in their own code,
// hottest first, and before them what a collector labels stacks with, such as files.
func (v *view) writeFunctions() {
	totals := v.inclusive()
	v.writeLabels(totals)
	self := make([]map[level]uint64, len(v.Metrics))
	for m := range v.Metrics {
		self[m] = make(map[level]uint64)
		for _, h := range hottest(v.Profile, m, math.MaxInt, v.opts.Inlines) {
			self[m][h.function] = h.count
		}
	}
	functions := v.rank(self)
	if len(functions) == 0 {
		return
	}
	rest := uint64(0)
	shown := functions
	if top := v.topFunctions(); top > 0 && len(functions) > top {
		shown = functions[:top]
		for _, h := range functions[top:] {
			rest += h.count
		}
	}
	m := &v.Metrics[v.metric]
	rows := [][]cell{{{"SELF", bold}, {"", regular}, {"TOTAL", bold}, {"", regular}, {"FUNCTION", bold}}}
	for i := range shown {
		l := &shown[i].function
		rows = append(rows, []cell{
			{quantity(shown[i].count, m), regular}, v.share(shown[i].count),
			{quantity(totals[*l], m), regular}, v.share(totals[*l]),
			{v.functionName(l), regular},
		})
	}
	v.addMetrics(rows, shown, self)
	fmt.Fprintln(&v.out)
	v.writeColumns(rows)
	if n := len(functions) - len(shown); n > 0 {
		fmt.Fprintln(&v.out, v.style(faint, fmt.Sprintf("and %s (%s); -o sets how many are shown", plural(uint64(n), "more function"), tenths(rest, v.totals[v.metric]))))
	}
}

// Lines that the view writes around the rows of its parts.
const (
	functionsFrame = 3 // an empty line, the heading, and how many more functions there are
	treeFrame      = 3 // an empty line, the heading, and what is not shown
)

// topFunctions is how many functions are shown: half of the screen's room goes to the tree.
func (v *view) topFunctions() int {
	const fewest = 5
	if v.opts.Height <= 0 || v.opts.Exact {
		return v.opts.Top
	}
	half := max((v.lines(0)-functionsFrame-treeFrame)/2, fewest)
	if v.opts.Top == 0 {
		return half
	}
	return min(v.opts.Top, half)
}

// rank returns the functions, hottest first: by the metric or, where several collectors ran
// and none of their metrics was asked for, by the largest share of any metric.
func (v *view) rank(self []map[level]uint64) []hot {
	functions := hottest(v.Profile, v.metric, math.MaxInt, v.opts.Inlines)
	if !v.joined() {
		return functions
	}
	listed := make(map[level]bool, len(functions))
	for i := range functions {
		listed[functions[i].function] = true
	}
	for m := range self {
		for l := range self[m] {
			if !listed[l] {
				listed[l] = true
				functions = append(functions, hot{function: l})
			}
		}
	}
	share := func(l level) (best float64) {
		for m := range self {
			best = max(best, float64(self[m][l])/float64(max(v.totals[m], 1)))
		}
		return best
	}
	slices.SortFunc(functions, func(a, b hot) int {
		return cmp.Or(cmp.Compare(share(b.function), share(a.function)), strings.Compare(a.function.name, b.function.name),
			cmp.Compare(a.function.object, b.function.object))
	})
	return functions
}

// joined tells whether several collectors ran and none of their metrics was asked for.
func (v *view) joined() bool { return v.opts.Metric == "" && strings.Contains(v.Collector, " ") }

// addMetrics adds columns of the other metrics before the functions' names, as many as
// leave room for those.
func (v *view) addMetrics(rows [][]cell, functions []hot, self []map[level]uint64) {
	const leastRoom = 30
	used := 0
	for i := range rows[0][:len(rows[0])-1] {
		used += widest(rows, i) + 2
	}
	for _, m := range v.otherMetrics() {
		column := []cell{{escape.Text(v.Metrics[m].Name), bold}}
		width := twwidth.Width(column[0].text)
		for i := range functions {
			values := make([]uint64, len(v.Metrics))
			for other := range values {
				values[other] = self[other][functions[i].function]
			}
			text := quantity(values[m], &v.Metrics[m])
			if share := v.Metrics[m].Share; share != nil {
				text = fmt.Sprintf("%d%%", share.Of(values))
			}
			column = append(column, cell{text, regular})
			width = max(width, twwidth.Width(text))
		}
		if used += width + 2; v.opts.Width > 0 && used+leastRoom > v.opts.Width {
			return
		}
		for i := range rows {
			rows[i] = slices.Insert(rows[i], len(rows[i])-1, column[i])
		}
	}
}

// otherMetrics returns the metrics that functions are not ranked by, in the order of their
// columns. If functions are ranked by a size, times come first: a narrow terminal has no
// room for all, and a size says least about how long a program waits for it.
func (v *view) otherMetrics() (all []int) {
	for m := range v.Metrics {
		if m != v.metric {
			all = append(all, m)
		}
	}
	isTime := func(m int) bool { return v.Metrics[m].Unit == "nanoseconds" }
	if !isTime(v.metric) {
		slices.SortStableFunc(all, func(a, b int) int {
			switch {
			case isTime(a) == isTime(b):
				return 0
			case isTime(a):
				return -1
			}
			return 1
		})
	}
	return all
}

// widest is the width of a column.
func widest(rows [][]cell, column int) int {
	width := 0
	for _, row := range rows {
		width = max(width, twwidth.Width(row[column].text))
	}
	return width
}

// writeLabels writes the labels of a collector, if there are any.
func (v *view) writeLabels(totals map[level]uint64) {
	type labeled struct {
		name  string
		count uint64
	}
	var labels []labeled
	for l, count := range totals {
		if l.kind == label && l.name != wokenBy && count > 0 {
			labels = append(labels, labeled{l.name, count})
		}
	}
	if len(labels) == 0 {
		return
	}
	slices.SortFunc(labels, func(a, b labeled) int {
		return cmp.Or(cmp.Compare(b.count, a.count), strings.Compare(a.name, b.name))
	})
	if v.opts.Top > 0 {
		labels = labels[:min(len(labels), v.opts.Top)]
	}
	if v.opts.Height > 0 {
		labels = labels[:min(len(labels), max(3, v.lines(0)/5))]
	}
	rows := [][]cell{{{"TOTAL", bold}, {"", regular}, {"WHAT", bold}}}
	for _, l := range labels {
		rows = append(rows, []cell{{quantity(l.count, &v.Metrics[v.metric]), regular}, v.share(l.count), {l.name, regular}})
	}
	fmt.Fprintln(&v.out)
	v.writeColumns(rows)
}
