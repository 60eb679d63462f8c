package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/profile"
)

// writeWho writes the processes with the most of the metric, each with what the collector
// labels its stacks with, such as files. Processes of one name share a row.
func (v *view) writeWho() {
	sums, names := make([]map[level]uint64, len(v.Metrics)), v.namesOfProcesses()
	for m := range sums {
		sums[m] = make(map[level]uint64)
	}
	l := newLeveler(v.Profile, v.opts.Inlines)
	var levels []level
	for i := range v.Rows {
		row := &v.Rows[i]
		levels = l.row(levels[:0], row)
		who := level{name: names[levels[0].name], object: -1, kind: process}
		for _, v := range levels {
			if v.kind == label {
				who.name += " " + v.name
			}
		}
		for m, value := range row.Values {
			sums[m][who] += value
		}
	}
	var all []hot
	for who, count := range sums[v.metric] {
		if count > 0 {
			all = append(all, hot{who, count})
		}
	}
	if len(all) == 0 {
		return
	}
	slices.SortFunc(all, func(a, b hot) int {
		return cmp.Or(cmp.Compare(b.count, a.count), strings.Compare(a.function.name, b.function.name))
	})
	all = all[:v.first(len(all))]
	rows := [][]cell{{{"TOTAL", bold}, {"", regular}, {v.Who, bold}}}
	for _, h := range all {
		rows = append(rows, []cell{{quantity(h.count, &v.Metrics[v.metric]), regular}, v.share(h.count), {h.function.name, regular}})
	}
	v.addMetrics(rows, all, sums, goodRoom)
	fmt.Fprintln(&v.out)
	v.writeColumns(rows)
}

// namesOfProcesses returns what a row calls the processes of each name that has rows: by the
// name and the pid, or by how many they are.
func (v *view) namesOfProcesses() map[string]string {
	pids := make(map[string]map[int]bool)
	for i := range v.Rows {
		p := &v.Processes[v.Rows[i].Process]
		name := commName(p)
		if pids[name] == nil {
			pids[name] = make(map[int]bool)
		}
		pids[name][pidOf(p)] = true
	}
	names := make(map[string]string, len(pids))
	for name, all := range pids {
		names[name] = fmt.Sprintf("%s (%d processes)", name, len(all))
		for pid := range all {
			if len(all) == 1 {
				names[name] = fmt.Sprintf("%s (pid %d)", name, pid)
			}
		}
	}
	return names
}

// pidOf returns what people call a process's id.
func pidOf(p *profile.Process) int { return cmp.Or(p.TGID, p.PID) }

// first is how many of n rows are shown of a table before that of the functions.
func (v *view) first(n int) int {
	const fewest, part = 3, 5
	if v.opts.Top > 0 {
		n = min(n, v.opts.Top)
	}
	if v.opts.Height > 0 {
		n = min(n, max(fewest, v.lines(0)/part))
	}
	return n
}
