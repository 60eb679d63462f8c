package output

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/profile"
)

// writeWho writes the processes with the highest counts of the metric, each with the collector's
// labels of its stacks, such as files. Processes with the same name share a row.
func (v *view) writeWho() {
	type row struct {
		name, labels string
		pids         map[int]bool // of processes with a count of the metric
	}
	var who []row
	index := make(map[[2]string]int) // into who, by name and labels
	sums := make([]map[level]uint64, len(v.Metrics))
	for m := range sums {
		sums[m] = make(map[level]uint64)
	}
	key := func(i int) level { return level{object: i, kind: process} }
	l := newLeveler(v.Profile, v.opts.Inlines)
	var levels []level
	for i := range v.Rows {
		r := &v.Rows[i]
		levels = l.row(levels[:0], r)
		p, labels := &v.Processes[r.Process], ""
		for _, l := range levels {
			if l.kind == label {
				labels += " " + l.name
			}
		}
		at, ok := index[[2]string{commName(p), labels}]
		if !ok {
			at = len(who)
			index[[2]string{commName(p), labels}] = at
			who = append(who, row{commName(p), labels, make(map[int]bool)})
		}
		if r.Values[v.metric] > 0 {
			who[at].pids[pidOf(p)] = true
		}
		for m, value := range r.Values {
			sums[m][key(at)] += value
		}
	}
	var all []hot
	for i := range who {
		if count := sums[v.metric][key(i)]; count > 0 {
			all = append(all, hot{key(i), count})
		}
	}
	name := func(l level) string {
		w := &who[l.object]
		if len(w.pids) > 1 {
			return fmt.Sprintf("%s (%d processes)%s", w.name, len(w.pids), w.labels)
		}
		for pid := range w.pids {
			return fmt.Sprintf("%s (pid %d)%s", w.name, pid, w.labels)
		}
		return w.name + w.labels
	}
	v.writeShares(v.Who, all, name, func(rows [][]cell, all []hot) { v.addMetrics(rows, all, sums, goodRoom) })
}

// writeShares writes the first rows of a table: the total of the metric, its share and the name.
// add inserts columns; it may be nil.
func (v *view) writeShares(heading string, all []hot, name func(level) string, add func(rows [][]cell, all []hot)) {
	if len(all) == 0 {
		return
	}
	slices.SortFunc(all, func(a, b hot) int {
		return cmp.Or(cmp.Compare(b.count, a.count), strings.Compare(name(a.function), name(b.function)))
	})
	all = all[:v.first(len(all))]
	rows := [][]cell{{{"TOTAL", bold}, {"", regular}, {heading, bold}}}
	for _, h := range all {
		rows = append(rows, []cell{{quantity(h.count, &v.Metrics[v.metric]), regular}, v.share(h.count), {name(h.function), regular}})
	}
	if add != nil {
		add(rows, all)
	}
	fmt.Fprintln(&v.out)
	v.writeColumns(rows)
}

// pidOf returns the process ID in the usual sense, which is the thread group ID.
func pidOf(p *profile.Process) int { return cmp.Or(p.TGID, p.PID) }

// first returns how many of n rows are shown in the table before the functions.
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
