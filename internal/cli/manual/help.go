package manual

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The widths of help texts in columns.
const (
	usualWidth = 80
	mostWidth  = 110
	indent     = 26 // the column in which the texts of options start
)

// Help returns the text of --help for a terminal of width columns; 0 means unknown.
func (p *Page) Help(program string, width int) string {
	if width < 40 {
		width = usualWidth
	}
	width = min(width, mostWidth)
	var b strings.Builder
	for i, line := range strings.Split(p.synopsis, "\n") {
		word := "Usage:"
		if i > 0 {
			word = "      "
		}
		fmt.Fprintf(&b, "%s %s %s\n", word, program, line)
	}
	writeParagraphs(&b, p.about, width)
	if len(p.Examples) > 0 {
		b.WriteString("\nExamples:\n")
		writeExamples(&b, p.Examples, width)
	}
	for _, g := range p.Groups {
		fmt.Fprintf(&b, "\n%s:\n", g.Name)
		for i := range g.Options {
			b.WriteString(g.Options[i].help(width))
		}
	}
	writeParagraphs(&b, p.details, width)
	return b.String()
}

func writeParagraphs(b *strings.Builder, paragraphs []Paragraph, width int) {
	for _, p := range paragraphs {
		b.WriteByte('\n')
		if p.verbatim {
			b.WriteString(p.Text + "\n")
			continue
		}
		b.WriteString(strings.Join(Wrap(p.Text, width), "\n") + "\n")
	}
}

// writeExamples writes each example on a line. What it shows goes below it if both do not
// fit on the line.
func writeExamples(b *strings.Builder, examples []Example, width int) {
	longest := 0
	for _, e := range examples {
		if n := utf8.RuneCountInString(e.Command); 4+n+utf8.RuneCountInString(e.what) <= width && e.what != "" {
			longest = max(longest, n)
		}
	}
	for _, e := range examples {
		n := utf8.RuneCountInString(e.Command)
		switch {
		case e.what == "":
			fmt.Fprintf(b, "  %s\n", e.Command)
		case 4+max(n, longest)+utf8.RuneCountInString(e.what) <= width:
			fmt.Fprintf(b, "  %-*s  %s\n", longest, e.Command, e.what)
		default:
			fmt.Fprintf(b, "  %s\n%*s%s\n", e.Command, 6, "", strings.Join(Wrap(e.what, width-6), "\n      "))
		}
	}
}

// help returns the lines of an option.
func (o *Option) help(width int) string {
	left := "      "
	if o.short != "" {
		left = "  -" + o.short + ", "
	}
	left += "--" + o.Long
	if o.Value != "" {
		left += " " + o.Value
	}
	lines := Wrap(o.usage+o.defaultText(), width-indent)
	text := fmt.Sprintf("%-*s", indent, left)
	if utf8.RuneCountInString(left) > indent-2 {
		text = left + "\n" + strings.Repeat(" ", indent)
	}
	return text + strings.Join(lines, "\n"+strings.Repeat(" ", indent)) + "\n"
}

func (o *Option) defaultText() string {
	if o.Default == "" {
		return ""
	}
	return " (default: " + o.Default + ")"
}

// Wrap breaks text between words into lines of at most width columns. A longer word stays whole.
func Wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, line)
			line = word
		}
	}
	return append(lines, line)
}
