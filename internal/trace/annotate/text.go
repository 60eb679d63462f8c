package annotate

import (
	"bytes"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/ringtap/ringtap/internal/text/escape"
)

// TextOptions configure the text of a listing.
type TextOptions struct {
	All   bool // show all instructions, not only those around the hot ones
	Top   int  // show at most so many source lines in the table of hot lines
	Color bool // allow terminal escape sequences
	// Width is the width of the terminal in columns; lines are cut there. 0 cuts none.
	Width int
	// Height is how many lines of the terminal are free; 0 is no limit. Without All, the text shows
	// the hottest code that fits.
	Height int
}

// Write writes a listing: a head, the hot source lines, and the code. Text of files is escaped.
func (l *Listing) Write(w io.Writer, o TextOptions) error {
	t := text{Listing: l, opts: o}
	t.head()
	t.hotLines()
	t.code()
	if _, err := w.Write(t.out.Bytes()); err != nil {
		return fmt.Errorf("write listing: %w", err)
	}
	return nil
}

// text is the state of one call of Write.
type text struct {
	*Listing
	opts TextOptions
	out  bytes.Buffer
}

// ANSI styles. The limits of red and green are perf annotate's.
const (
	regular = ""
	bold    = "1"
	faint   = "2"
	red     = "31" // 5% and more
	green   = "32" // hotPercent and more
)

// hotPercent is the share from which an instruction is hot, in percent of the function.
const hotPercent = 0.5

// percent returns the share of the function's samples, by periods.
func (l *Listing) percent(c Count) float64 { return share(c, l.Samples) }

func share(part, whole Count) float64 {
	if whole.Period == 0 { // a recording may have samples with the period 0
		return 100 * float64(part.Samples) / float64(max(whole.Samples, 1))
	}
	return 100 * float64(part.Period) / float64(whole.Period)
}

// cut returns the start of s if it is wider than width columns and there is a terminal.
func (t *text) cut(s string, width int) string {
	if t.opts.Width == 0 || twwidth.Width(s) <= width {
		return s
	}
	return twwidth.Truncate(s, width-1) + "…"
}

// line returns a line of escaped text, cut at the terminal's width, in a style.
func (t *text) line(style, s string) string {
	s = t.cut(s, t.opts.Width)
	if t.opts.Color && style != regular {
		s = "\x1b[" + style + "m" + s + "\x1b[0m"
	}
	return s + "\n"
}

// heat returns the style of a share.
func heat(percent float64) string {
	switch {
	case percent >= 5:
		return red
	case percent >= hotPercent:
		return green
	}
	return regular
}

// minName is how many columns of the function's name are shown at least.
const minName = 10

// head writes what is shown. If the line is too long, the directory is left out and the function's
// name is cut.
func (t *text) head() {
	function, object := escape.Text(t.Function), t.Object
	rest := func() string {
		return fmt.Sprintf(" (%s): %s of %s, %d of %d samples", object, percentText(share(t.Samples, t.All)), t.Event, t.Samples.Samples, t.All.Samples)
	}
	if width := t.opts.Width; width > 0 && twwidth.Width(function+escape.Text(rest())) > width {
		object = path.Base(object)
		function = t.cut(function, max(width-twwidth.Width(escape.Text(rest())), minName))
	}
	t.out.WriteString(t.line(bold, function+escape.Text(rest())))
}

func percentText(percent float64) string { return fmt.Sprintf("%.2f%%", percent) }

// hotLines writes the table of hot source lines, unless debug information is missing.
func (t *text) hotLines() {
	top := t.opts.Top
	if t.opts.Height > 0 {
		top = min(top, t.opts.Height/4)
	}
	lines := t.Lines[:min(len(t.Lines), max(top, 1))]
	width := 0
	for i := range lines {
		width = max(width, twwidth.Width(escape.Text(lines[i].Place.String())))
	}
	for i := range lines {
		s := &lines[i]
		if i == 0 {
			t.out.WriteString("\n")
		}
		row := fmt.Sprintf("%7s  %-*s  %s", percentText(t.percent(s.Count)), width, escape.Text(s.Place.String()), escape.Text(s.Text))
		t.out.WriteString(t.line(heat(t.percent(s.Count)), strings.TrimRight(row, " ")))
	}
}

// String returns the file's name and the line.
func (p Place) String() string {
	if p.File == "" {
		return fmt.Sprintf("?:%d", p.Line)
	}
	return fmt.Sprintf("%s:%d", path.Base(p.File), p.Line)
}

// minText is how many columns of a source line are shown at least before the names of inlined calls.
const minText = 30

// heading returns the line above the first instruction of a source line.
func (t *text) heading(s *SourceLine) string {
	place, inlined := escape.Text(s.Place.String())+"  ", escape.Text(s.inlined())
	source := t.cut(escape.Text(s.Text), max(t.opts.Width-twwidth.Width(place+inlined), minText))
	return t.line(faint, strings.TrimRight(place+source+inlined, " "))
}

// inlined names the innermost of the inlined functions, and the place where the function calls the
// outermost one.
func (s *SourceLine) inlined() string {
	if len(s.Inlined) == 0 {
		return ""
	}
	name, between := s.Inlined[0], ""
	if i := strings.LastIndex(name, "::"); i >= 0 {
		name = name[i+2:]
	}
	if len(s.Inlined) > 1 {
		between = " …"
	}
	return fmt.Sprintf("  (inlined %s%s at %v)", name, between, s.Call)
}

// code writes the instructions.
func (t *text) code() {
	t.out.WriteString("\n" + t.line(regular, "Percent  Address"))
	for _, line := range t.shown() {
		t.out.WriteString(line)
	}
}

// instruction returns the line of an instruction.
func (t *text) instruction(inst *Instruction) string {
	mark, percent, style := " ", "", regular
	if inst.JumpedTo {
		mark = ">"
	}
	if inst.Samples > 0 {
		percent = fmt.Sprintf("%.2f", t.percent(inst.Count))
		style = heat(t.percent(inst.Count))
	}
	return t.line(style, fmt.Sprintf("%7s %s %*x:  %s", percent, mark, t.addressWidth(), inst.Address, escape.Text(inst.Text)))
}

// addressWidth returns the digits of the longest address.
func (l *Listing) addressWidth() int {
	if len(l.Code) == 0 {
		return 0
	}
	return len(fmt.Sprintf("%x", l.Code[len(l.Code)-1].Address))
}
