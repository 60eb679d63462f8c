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
	indent     = 26 // where the texts of options begin
)

// Help is the text of --help for a terminal of that many columns; 0 is not known.
func (p *Page) Help(program string, width int) string {
	if width < 40 {
		width = usualWidth
	}
	width = min(width, mostWidth)
	var b strings.Builder
	for i, line := range strings.Split(p.Synopsis, "\n") {
		word := "Usage:"
		if i > 0 {
			word = "      "
		}
		fmt.Fprintf(&b, "%s %s %s\n", word, program, line)
	}
	writeParagraphs(&b, p.About, width)
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
	writeParagraphs(&b, p.Details, width)
	return b.String()
}

func writeParagraphs(b *strings.Builder, paragraphs []Paragraph, width int) {
	for _, p := range paragraphs {
		b.WriteByte('\n')
		if p.Verbatim {
			b.WriteString(p.Text + "\n")
			continue
		}
		b.WriteString(strings.Join(Wrap(p.Text, width), "\n") + "\n")
	}
}

// writeExamples writes each example on a line, or what it is of below it where it does
// not fit.
func writeExamples(b *strings.Builder, examples []Example, width int) {
	longest := 0
	for _, e := range examples {
		if n := utf8.RuneCountInString(e.Command); 4+n+utf8.RuneCountInString(e.What) <= width && e.What != "" {
			longest = max(longest, n)
		}
	}
	for _, e := range examples {
		n := utf8.RuneCountInString(e.Command)
		switch {
		case e.What == "":
			fmt.Fprintf(b, "  %s\n", e.Command)
		case 4+max(n, longest)+utf8.RuneCountInString(e.What) <= width:
			fmt.Fprintf(b, "  %-*s  %s\n", longest, e.Command, e.What)
		default:
			fmt.Fprintf(b, "  %s\n%*s%s\n", e.Command, 6, "", strings.Join(Wrap(e.What, width-6), "\n      "))
		}
	}
}

// help is an option's lines.
func (o *Option) help(width int) string {
	left := "      "
	if o.Short != "" {
		left = "  -" + o.Short + ", "
	}
	left += "--" + o.Long
	if o.Value != "" {
		left += " " + o.Value
	}
	lines := Wrap(o.Usage+o.defaultText(), width-indent)
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
