package output

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/ringtap/ringtap/internal/profile/diff"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// DiffOptions configure WriteDiff and WriteDiffFile. Metric is not used: a diff.Diff has one metric
// of each profile.
type DiffOptions struct {
	TableOptions
	// Color allows terminal escape sequences.
	Color bool
	// Total compares shares that include callees. Otherwise they are those of a function's own code.
	Total bool
	// All also lists functions whose change may be chance, and marks them.
	All bool
}

// WriteDiff writes the difference of two profiles for a person at a terminal: the totals, and the
// functions whose share has changed by more than chance, the largest change first.
//
// Text from profiled processes is escaped. The error is one of w, or says that a profile is
// inconsistent or empty.
func WriteDiff(w io.Writer, d *diff.Diff, opts DiffOptions) error {
	c, err := newComparison(d, opts)
	if err != nil {
		return err
	}
	line := wrap("diff: "+c.sides(), " ", opts.Width)
	fmt.Fprintln(&c.out, c.style(bold, strings.ReplaceAll(line, noBreak, " ")))
	c.writeChanges()
	if len(c.idle) > 0 {
		fmt.Fprintln(&c.out, wrap("Waits of threads without work are not counted.", " ", opts.Width))
	}
	if _, err := w.Write(c.out.Bytes()); err != nil {
		return fmt.Errorf("write difference: %w", err)
	}
	return nil
}

// comparison is a diff.Diff without idle waits and unwanted stacks.
type comparison struct {
	view
	names      [2]string  // of the two files
	samples    [2]float64 // behind the totals
	total, all bool       // see DiffOptions
}

func newComparison(d *diff.Diff, opts DiffOptions) (*comparison, error) {
	if err := Check(d.Profile); err != nil {
		return nil, err
	}
	shown := *d.Profile
	c := &comparison{
		view:  view{Profile: &shown, opts: ViewOptions{TableOptions: opts.TableOptions, Color: opts.Color}},
		names: [2]string{escape.Text(d.Names[0]), escape.Text(d.Names[1])},
		total: opts.Total, all: opts.All,
	}
	shown.Rows, c.idle = takeIdle(d.Profile)
	shown.Rows = visibleRows(&shown, opts.TableOptions)
	shown.Frames = oneObjectAName(d.Profile)
	c.totals = sums(&shown)
	for i, all := range sums(d.Profile) {
		if c.totals[i] == 0 {
			return nil, fmt.Errorf("%s: no samples of %s", c.names[i], escape.Text(shown.Metrics[i].Name))
		}
		c.samples[i] = d.Samples[i] * float64(c.totals[i]) / float64(all)
	}
	return c, nil
}

// change is how the share of a function, or of a stack, differs.
type change struct {
	function       level
	counts         [2]uint64
	change, margin float64 // from 0 to 1; see diff.Change
}

func (c *comparison) change(function level, counts [2]uint64) change {
	delta, margin := diff.Change(c.part(0, counts[0]), c.part(1, counts[1]))
	return change{function, counts, delta, margin}
}

func (c *comparison) part(side int, count uint64) diff.Share {
	return diff.Share{Part: count, Whole: c.totals[side], Samples: c.samples[side]}
}

// isChance reports whether two profiles of the same program may differ that much.
func (c *change) isChance() bool { return math.Abs(c.change) <= c.margin }

// changes returns all functions, the largest change first.
func (c *comparison) changes() []change {
	counts := make(map[level][2]uint64)
	for side := range 2 {
		for function, count := range c.counts(side) {
			both := counts[function]
			both[side] = count
			counts[function] = both
		}
	}
	all := make([]change, 0, len(counts))
	for function, both := range counts {
		if both != [2]uint64{} {
			all = append(all, c.change(function, both))
		}
	}
	slices.SortFunc(all, func(a, b change) int {
		return cmp.Or(cmp.Compare(math.Abs(b.change), math.Abs(a.change)), strings.Compare(a.function.name, b.function.name),
			cmp.Compare(a.function.object, b.function.object), cmp.Compare(a.function.kind, b.function.kind))
	})
	return all
}

// counts returns the counts of each function in one of the profiles.
func (c *comparison) counts(side int) map[level]uint64 {
	if c.total {
		v := c.view
		v.metric = side
		return v.inclusive()
	}
	counts := make(map[level]uint64)
	for _, h := range hottest(c.Profile, side, math.MaxInt, c.opts.Inlines) {
		counts[h.function] = h.count
	}
	return counts
}

// noBreak is the blank in text that must stay in one line.
const noBreak = "\u00a0"

// sides returns what is compared, as one sentence.
func (c *comparison) sides() string {
	texts := make([]string, 2)
	for side, name := range c.names {
		m, text := &c.Metrics[side], amount(c.totals, c.Metrics, side)
		if n := uint64(c.samples[side] + 0.5); m.Unit != "counts" || n != c.totals[side] {
			if side == 1 && m.Name == c.Metrics[0].Name {
				text = quantity(c.totals[side], m)
			}
			text += ", " + plural(n, "sample")
		}
		texts[side] = strings.ReplaceAll(name+" ("+text+")", " ", noBreak)
	}
	return texts[0] + " →" + noBreak + texts[1]
}

// writeChanges writes the functions, and how many are not shown.
func (c *comparison) writeChanges() {
	shown, chance, more := c.changes(), 0, 0
	if !c.all {
		all := len(shown)
		shown = slices.DeleteFunc(shown, func(f change) bool { return f.isChance() })
		chance = all - len(shown)
	}
	if top := c.opts.Top; top > 0 && len(shown) > top {
		more = len(shown) - top
		shown = shown[:top]
	}
	fmt.Fprintln(&c.out)
	if len(shown) > 0 {
		c.writeColumns(c.rows(shown))
	}
	var lines []string
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %s; -o sets how many are shown", plural(uint64(more), "more function")))
	}
	switch {
	case chance > 0 && len(shown) == 0:
		lines = append(lines, "No function changed by more than chance; --all shows them.")
	case chance > 0:
		lines = append(lines, plural(uint64(chance), "function")+" changed by no more than chance; --all shows them")
	}
	if slices.ContainsFunc(shown, func(f change) bool { return f.isChance() }) {
		lines = append(lines, "chance: two profiles of the same program may differ that much")
	}
	for _, line := range lines {
		fmt.Fprintln(&c.out, c.style(faint, wrap(line, " ", c.opts.Width)))
	}
}

// rows returns the lines of the table.
func (c *comparison) rows(shown []change) [][]cell {
	heading := "FUNCTION"
	if c.total {
		heading = "FUNCTION WITH ITS CALLEES"
	}
	rows := [][]cell{{{"BEFORE", bold}, {"AFTER", bold}, {"CHANGE", bold}, {heading, bold}}}
	if c.all {
		rows[0] = slices.Insert(rows[0], 3, cell{})
	}
	texts := changeTexts(shown)
	for i := range shown {
		f := &shown[i]
		before, after := cell{tenths(f.counts[0], c.totals[0]), regular}, cell{tenths(f.counts[1], c.totals[1]), regular}
		if f.counts[0] == 0 {
			before.text = "new"
		}
		if f.counts[1] == 0 {
			after.text = "gone"
		}
		look, mark := hotly, ""
		switch {
		case f.isChance():
			look, mark = faint, "chance"
		case f.change < 0:
			look = mild
		}
		row := []cell{before, after, {texts[i], look}, {functionName(c.Profile, &f.function), regular}}
		if c.all {
			row = slices.Insert(row, 3, cell{mark, faint})
		}
		rows = append(rows, row)
	}
	return rows
}

// changeTexts formats changes in percentage points, and their margins below each other: "-13.7 ± 6.1".
// There are as many digits as the smallest margin needs.
func changeTexts(changes []change) []string {
	digits, width := 1, 0
	for i := range changes {
		for digits < 3 && 100*changes[i].margin < math.Pow10(-digits) {
			digits++
		}
	}
	margins := make([]string, len(changes))
	for i := range changes {
		margins[i] = fmt.Sprintf("%.*f", digits, 100*changes[i].margin)
		width = max(width, twwidth.Width(margins[i]))
	}
	texts := make([]string, len(changes))
	for i := range changes {
		change := fmt.Sprintf("%+.*f", digits, 100*changes[i].change)
		if strings.Trim(change, "+-0.") == "" {
			change = strings.TrimLeft(change, "+-")
		}
		texts[i] = fmt.Sprintf("%s ±%*s", change, width, margins[i])
	}
	return texts
}
