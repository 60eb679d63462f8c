package output

import (
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// pieces returns t, or several tables with some of its columns each if t is too wide for the
// terminal. Each of them also has the first t.keys columns, which identify a row.
func (t *table) pieces(width int) []table {
	if t.keys == 0 || width <= 0 {
		return []table{*t}
	}
	const border = 1
	var pieces []table
	used := width
	for i := t.keys; i < len(t.heading); i++ {
		if len(pieces) == 0 || used+t.drawnWidth(i) > width {
			pieces = append(pieces, table{rows: make([][]string, len(t.rows))})
			used = border
			for key := range t.keys {
				pieces[len(pieces)-1].add(t, key)
				used += t.drawnWidth(key)
			}
		}
		pieces[len(pieces)-1].add(t, i)
		used += t.drawnWidth(i)
	}
	return pieces
}

// add appends a column of another table.
func (t *table) add(from *table, column int) {
	t.heading = append(t.heading, from.heading[column])
	t.align += from.align[column : column+1]
	for i, row := range from.rows {
		t.rows[i] = append(t.rows[i], row[column])
	}
}

// drawnWidth returns the width of a column with its border, if its heading is wrapped.
func (t *table) drawnWidth(column int) int {
	const padding, border = 2, 1
	cells := strings.SplitAfter(t.heading[column], "/")
	for _, row := range t.rows {
		cells = append(cells, row[column])
	}
	widest := slices.MaxFunc(cells, func(a, b string) int { return twwidth.Width(a) - twwidth.Width(b) })
	return twwidth.Width(widest) + padding + border
}
