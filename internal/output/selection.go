package output

import (
	"cmp"
	"slices"

	"github.com/ringtap/ringtap/internal/profile"
)

// selection is what the three tables show of a profile: the top rows, and only the stacks and
// processes that these refer to.
type selection struct {
	rows      []profile.Row // ascending, see order
	stacks    []int         // in order of first use
	processes []int         // ascending by pid

	all          int    // number of rows without the limit
	shown, total uint64 // sums of the chosen metric: of rows, of the whole profile
}

func choose(p *profile.Profile, opts TableOptions, metric int) selection {
	rows := visibleRows(p, opts)
	rank := order(p, rows, opts, metric)
	slices.SortFunc(rows, func(a, b profile.Row) int {
		return cmp.Or(
			rank(&a, &b),
			cmp.Compare(p.Processes[a.Process].PID, p.Processes[b.Process].PID),
			cmp.Compare(a.Process, b.Process),
			cmp.Compare(a.User, b.User),
			cmp.Compare(a.Kernel, b.Kernel),
		)
	})
	s := selection{all: len(rows)}
	for i := range rows {
		s.total += rows[i].Values[metric]
	}
	if opts.Top > 0 && len(rows) > opts.Top {
		rows = rows[len(rows)-opts.Top:]
	}
	s.rows = rows

	stacks, processes := map[int]bool{profile.None: true}, map[int]bool{}
	for i := range rows {
		r := &rows[i]
		s.shown += r.Values[metric]
		for _, id := range [2]int{r.User, r.Kernel} {
			if !stacks[id] {
				stacks[id] = true
				s.stacks = append(s.stacks, id)
			}
		}
		if !processes[r.Process] {
			processes[r.Process] = true
			s.processes = append(s.processes, r.Process)
		}
	}
	slices.SortFunc(s.processes, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.Processes[a].PID, p.Processes[b].PID), cmp.Compare(a, b))
	})
	return s
}

// order returns the comparison of rows: by the chosen metric, then by their largest share of any
// metric. If there are several collectors and the user chose no metric, the largest share comes
// first, because a row that leads one column may be empty in another.
func order(p *profile.Profile, rows []profile.Row, opts TableOptions, metric int) func(a, b *profile.Row) int {
	totals := make([]uint64, len(p.Metrics))
	for i := range rows {
		for m, v := range rows[i].Values {
			totals[m] += v
		}
	}
	best := func(r *profile.Row) (share float64) {
		for m, v := range r.Values {
			if v > 0 {
				share = max(share, float64(v)/float64(totals[m]))
			}
		}
		return share
	}
	byMetric := func(a, b *profile.Row) int { return cmp.Compare(a.Values[metric], b.Values[metric]) }
	byShare := func(a, b *profile.Row) int { return cmp.Compare(best(a), best(b)) }
	if opts.Metric == "" && len(p.Accounts) > 1 {
		return func(a, b *profile.Row) int { return cmp.Or(byShare(a, b), byMetric(a, b)) }
	}
	return func(a, b *profile.Row) int { return cmp.Or(byMetric(a, b), byShare(a, b)) }
}

// visibleRows returns the rows without the stacks that are not shown: unwanted and empty ones. Rows
// that differ only in these are merged. The caller may sort the rows, but must not change their values.
func visibleRows(p *profile.Profile, opts TableOptions) []profile.Row {
	visible := func(r profile.Row) profile.Row {
		if opts.Kernel && !opts.User || empty(p, r.User) {
			r.User = profile.None
		}
		if opts.User && !opts.Kernel || empty(p, r.Kernel) {
			r.Kernel = profile.None
		}
		return r
	}
	if !slices.ContainsFunc(p.Rows, func(r profile.Row) bool {
		v := visible(r)
		return v.User != r.User || v.Kernel != r.Kernel
	}) {
		return slices.Clone(p.Rows)
	}
	type key struct{ process, user, kernel int }
	merged := make(map[key]int, len(p.Rows))
	rows := make([]profile.Row, 0, len(p.Rows))
	for _, r := range p.Rows {
		r = visible(r)
		k := key{r.Process, r.User, r.Kernel}
		i, seen := merged[k]
		if !seen {
			merged[k] = len(rows)
			r.Values = slices.Clone(r.Values)
			rows = append(rows, r)
			continue
		}
		for m, v := range r.Values {
			rows[i].Values[m] += v
		}
	}
	return rows
}

func empty(p *profile.Profile, stack int) bool {
	return stack == profile.None || len(p.Stacks[stack].Frames) == 0 && !p.Stacks[stack].Truncated
}
