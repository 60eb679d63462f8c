package output

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/profile"
)

// hot is a function and the count of a metric for it. If the metric counts running code, the count
// is that of the function itself without its callees (see leveler.running). Otherwise
// leveler.account assigns the count.
type hot struct {
	function level
	count    uint64
}

// hottest returns the n functions with the highest counts of a metric, highest first. A row is one
// exact place in the code, so the top rows of a busy host say little about its hottest functions.
func hottest(p *profile.Profile, metric, n int, inlines bool) []hot {
	l := newLeveler(p, inlines)
	counts := make(map[level]uint64)
	var levels []level
	for i := range p.Rows {
		if p.Rows[i].Values[metric] == 0 {
			continue
		}
		levels = l.row(levels[:0], &p.Rows[i])
		find := l.account
		if p.Metrics[metric].Running {
			find = l.running
		}
		if leaf := find(levels); leaf.kind != process {
			counts[leaf] += p.Rows[i].Values[metric]
		}
	}
	functions := make([]hot, 0, len(counts))
	for function, count := range counts {
		functions = append(functions, hot{function, count})
	}
	slices.SortFunc(functions, func(a, b hot) int {
		return cmp.Or(cmp.Compare(b.count, a.count), strings.Compare(a.function.name, b.function.name),
			cmp.Compare(a.function.object, b.function.object))
	})
	return functions[:min(n, len(functions))]
}

// hottestLine lists the hottest functions with their objects and their shares of total. It returns
// "" if there are none.
func hottestLine(p *profile.Profile, metric int, total uint64, inlines bool) string {
	const most = 5
	var parts []string
	for _, h := range hottest(p, metric, most, inlines) {
		parts = append(parts, percent(h.count, total)+" "+functionName(p, &h.function))
	}
	if len(parts) == 0 {
		return ""
	}
	return "hottest functions: " + strings.Join(parts, ", ")
}
