package output

import (
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// draw draws t at most width columns wide (0: no limit). A trace that is too long is wrapped after
// a frame, and a sentence after a word, so nothing is lost. Other text, and single frames and words
// that are too long, lose their middle.
func (t *table) draw(w io.Writer, width int) error {
	last := len(t.heading) - 1
	room := t.room(width)
	align := make([]tw.Align, len(t.heading))
	for i := range align {
		align[i] = tw.AlignLeft
		if t.align[i] == 'r' {
			align[i] = tw.AlignRight
		}
	}
	look := tw.Rendition{Symbols: tw.NewSymbols(tw.StyleRounded)}
	if t.wrap == ";" && t.breaks(room) { // wrapped lists of frames would run together
		look.Settings.Separators.BetweenRows = tw.On
	}
	out := tablewriter.NewTable(w,
		tablewriter.WithRenderer(renderer.NewBlueprint(look)),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithHeaderAlignmentConfig(tw.CellAlignment{PerColumn: align}),
		tablewriter.WithRowAlignmentConfig(tw.CellAlignment{PerColumn: align}),
	)
	out.Header(t.drawnHeading(width))
	for _, row := range t.rows {
		cells := slices.Clone(row)
		switch {
		case t.wrap != "":
			cells[last] = wrap(cells[last], t.wrap, room)
		case t.narrow:
			cells[last] = shorten(cells[last], room)
		}
		if err := out.Append(cells); err != nil {
			return err
		}
	}
	return out.Render()
}

// drawnHeading wraps the headings of metrics after their name if the table would be too wide.
func (t *table) drawnHeading(width int) []string {
	last := len(t.heading) - 1
	if width <= 0 || t.narrow || t.left(width) >= twwidth.Width(t.heading[last]) {
		return t.heading
	}
	broken := slices.Clone(t.heading)
	for i := range broken {
		broken[i] = strings.Replace(broken[i], "/", "/\n", 1)
	}
	return broken
}

// room returns how wide the last column may be, or 0 for no limit. It is at least as wide as a
// short name.
func (t *table) room(width int) int {
	if width <= 0 {
		return 0
	}
	return max(t.left(width), 20)
}

// left returns how many of width columns remain for the last table column.
func (t *table) left(width int) int {
	const border, padding = 1, 2
	last := len(t.heading) - 1
	room := width - border
	for i := range t.heading {
		room -= padding + border
		if i == last {
			break
		}
		column := twwidth.Width(t.heading[i])
		for _, row := range t.rows {
			column = max(column, twwidth.Width(row[i]))
		}
		room -= column
	}
	return room
}

// breaks reports whether a cell of the last column needs more than one line.
func (t *table) breaks(width int) bool {
	return slices.ContainsFunc(t.rows, func(row []string) bool {
		return width > 0 && twwidth.Width(row[len(row)-1]) > width
	})
}

// Wrap breaks text between words into lines of at most width columns. If width is 0, it does not
// break lines.
func Wrap(text string, width int) string { return wrap(text, " ", width) }

// wrap breaks text after separators into lines of at most width columns.
func wrap(text, separator string, width int) string {
	if width == 0 {
		return text
	}
	var lines []string
	var line strings.Builder
	used := 0
	for _, part := range strings.SplitAfter(text, separator) {
		part = shorten(part, width)
		n := twwidth.Width(part)
		if used > 0 && used+twwidth.Width(strings.TrimRight(part, " ")) > width {
			lines = append(lines, strings.TrimRight(line.String(), " "))
			line.Reset()
			used = 0
		}
		line.WriteString(part)
		used += n
	}
	return strings.Join(append(lines, strings.TrimRight(line.String(), " ")), "\n")
}

// shorten removes the middle of s if it is wider than width columns. The ends of a name, with the
// offset and the last part of a path, matter more.
func shorten(s string, width int) string {
	if width == 0 || twwidth.Width(s) <= width {
		return s
	}
	runes := []rune(s)
	head, tail := 0, len(runes)
	left := width - twwidth.Width("…")
	for fromHead := true; head < tail; fromHead = !fromHead {
		next := runes[head]
		if !fromHead {
			next = runes[tail-1]
		}
		left -= twwidth.Width(string(next))
		if left < 0 {
			break
		}
		if fromHead {
			head++
		} else {
			tail--
		}
	}
	return string(runes[:head]) + "…" + string(runes[tail:])
}
