package output

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// writeFunctions writes the functions with the highest counts of their own code, hottest first.
// Before them it writes the processes, if the profile asks for that, or the collector's labels,
// such as files.
func (v *view) writeFunctions() {
	totals := v.inclusive()
	if v.Who != "" {
		v.writeWho()
	} else {
		v.writeLabels(totals)
	}
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
			{functionName(v.Profile, l), regular},
		})
	}
	v.addMetrics(rows, shown, self, leastName)
	fmt.Fprintln(&v.out)
	v.writeColumns(rows)
	if n := len(functions) - len(shown); n > 0 {
		fmt.Fprintln(&v.out, v.style(faint, fmt.Sprintf("and %s (%s); -o sets how many are shown", plural(uint64(n), "more function"), tenths(rest, v.totals[v.metric]))))
	}
}

// The lines around the rows of each part of the view.
const (
	functionsFrame = 3 // an empty line, the heading, and how many more functions there are
	treeFrame      = 3 // an empty line, the heading, and what is not shown
)

// topFunctions returns how many functions are shown. The tree gets half of the screen.
func (v *view) topFunctions() int {
	const fewest = 3
	if v.opts.Height <= 0 || v.opts.Exact {
		return v.opts.Top
	}
	half := max((v.lines(0)-functionsFrame-treeFrame)/2, fewest)
	if v.opts.Top == 0 {
		return half
	}
	return min(v.opts.Top, half)
}

// rank returns the functions, hottest first. They are ranked by the metric, or by the largest share
// of any metric if there are several collectors and the user chose no metric.
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

// joined reports whether there are several collectors and the user chose no metric.
func (v *view) joined() bool {
	return v.opts.Metric == "" && len(v.Metrics) > 1 && strings.Contains(v.Collector, " ")
}

// addMetrics inserts columns of the other metrics before the functions' names, as many as leave
// leastRoom columns for the names. Bytes and times come before counts. If they do not fit, they
// replace the TOTAL columns, because a wait or a call counts for one function only.
func (v *view) addMetrics(rows [][]cell, functions []hot, self []map[level]uint64, leastRoom int) {
	const total, totalEnd = 2, 4
	var columns [][]cell
	used, longest := 0, widest(rows, len(rows[0])-1)
	for i := range rows[0][:len(rows[0])-1] {
		used += widest(rows, i) + 2
	}
	room := v.opts.Width - leastRoom - used
	for _, m := range v.otherMetrics() {
		column := v.metricColumn(m, functions, self)
		width := 0
		for _, c := range column {
			width = max(width, twwidth.Width(c.text)+2)
		}
		isCount := v.Metrics[m].Unit != "bytes" && v.Metrics[m].Unit != "nanoseconds"
		if v.opts.Width > 0 && room < width && !isCount && !v.Metrics[v.metric].Running && !v.joined() && rows[0][total].text == "TOTAL" {
			room += widest(rows, total) + widest(rows, total+1) + 4
			for i := range rows {
				rows[i] = slices.Delete(rows[i], total, totalEnd)
			}
		}
		if v.opts.Width > 0 && (room < width || isCount && room+leastRoom-width < min(longest, goodRoom)) {
			continue // full names say more than a count
		}
		room -= width
		columns = append(columns, column)
	}
	for i := range rows {
		for _, column := range columns {
			rows[i] = slices.Insert(rows[i], len(rows[i])-1, column[i])
		}
	}
}

// otherMetrics returns the metrics, except the chosen one and empty ones: first bytes, then times,
// then the rest.
func (v *view) otherMetrics() []int {
	var others []int
	for m := range v.Metrics {
		if m != v.metric && (v.totals[m] > 0 || v.Metrics[m].Share != nil) {
			others = append(others, m)
		}
	}
	units := []string{"bytes", "nanoseconds"}
	order := func(m int) int {
		if i := slices.Index(units, v.Metrics[m].Unit); i >= 0 {
			return i
		}
		return len(units)
	}
	slices.SortStableFunc(others, func(a, b int) int { return cmp.Compare(order(a), order(b)) })
	return others
}

// metricColumn returns the column of one metric: a heading, and a cell for each function.
func (v *view) metricColumn(m int, functions []hot, self []map[level]uint64) []cell {
	column := []cell{{heading(&v.Metrics[m]), bold}}
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
	}
	return column
}

// widest returns the width of a column.
func widest(rows [][]cell, column int) int {
	width := 0
	for _, row := range rows {
		width = max(width, twwidth.Width(row[column].text))
	}
	return width
}

// writeLabels writes the labels of a collector, if there are any.
func (v *view) writeLabels(totals map[level]uint64) {
	wakers := false
	for l := range totals {
		wakers = wakers || l.kind == label && l.name == wokenBy
	}
	var labels []hot
	for l, count := range totals {
		if wakers && !strings.HasPrefix(l.name, "[") {
			continue // the separator before a waker's stack, or the waker's name
		}
		if l.kind == label && count > 0 {
			labels = append(labels, hot{l, count})
		}
	}
	v.writeShares("WHAT", labels, func(l level) string { return l.name }, nil)
}
