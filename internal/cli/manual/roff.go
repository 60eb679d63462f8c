package manual

import (
	"fmt"
	"strings"
)

// FileName returns the name of a page's file in a folder of manual pages.
func (p *Page) FileName(program string) string { return program + "-" + p.Name + ".1" }

// Roff returns the manual page of a command, in the macros of man(7).
func (pr *Program) Roff(p *Page) string {
	var b strings.Builder
	writeTitle(&b, pr.Name+"-"+p.Name, pr.Name)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", roff(pr.Name+"-"+p.Name), roff(p.summary))
	for i, line := range strings.Split(p.synopsis, "\n") {
		if i > 0 {
			b.WriteString(".br\n")
		}
		fmt.Fprintf(&b, ".B %s\n%s\n", roff(pr.Name+" "+p.Name), roff(strings.TrimSpace(strings.TrimPrefix(line, p.Name))))
	}
	b.WriteString(".SH DESCRIPTION\n")
	roffParagraphs(&b, p.about)
	if len(p.Groups) > 0 {
		b.WriteString(".SH OPTIONS\n")
	}
	for _, g := range p.Groups {
		fmt.Fprintf(&b, ".SS %s\n", roff(g.Name))
		for i := range g.Options {
			g.Options[i].roff(&b)
		}
	}
	if len(p.Examples) > 0 {
		b.WriteString(".SH EXAMPLES\n")
	}
	for _, e := range p.Examples {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(e.Command), roff(e.what))
	}
	if len(p.details) > 0 {
		b.WriteString(".SH NOTES\n")
		roffParagraphs(&b, p.details)
	}
	roffSections(&b, pr.Common)
	fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff(pr.Name))
	return b.String()
}

// RoffProgram returns the manual page of the program itself, with the list of its commands.
func (pr *Program) RoffProgram() string {
	var b strings.Builder
	writeTitle(&b, pr.Name, pr.Name)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.B %s\n.I COMMAND\n[options] [arguments]\n.SH COMMANDS\n", roff(pr.Name), roff(pr.Summary), roff(pr.Name))
	for i := range pr.Pages {
		p := &pr.Pages[i]
		fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s.\n", roff(pr.Name+"-"+p.Name), roff(p.summary))
	}
	roffSections(&b, pr.Common)
	return b.String()
}

func writeTitle(b *strings.Builder, name, program string) {
	fmt.Fprintf(b, ".\\\" Made from the flags and help texts of %s: go test ./cmd/ringtap -run Manual -update\n.TH %s 1 \"\" \"%s\" \"User Commands\"\n",
		program, strings.ToUpper(roff(name)), roff(program))
}

func roffSections(b *strings.Builder, sections []Section) {
	for _, s := range sections {
		fmt.Fprintf(b, ".SH %s\n", strings.ToUpper(roff(s.Title)))
		roffParagraphs(b, s.Text)
	}
}

func roffParagraphs(b *strings.Builder, paragraphs []Paragraph) {
	for i, p := range paragraphs {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if p.verbatim {
			fmt.Fprintf(b, ".nf\n%s\n.fi\n", roff(p.Text))
			continue
		}
		fmt.Fprintf(b, "%s\n", roff(p.Text))
	}
}

func (o *Option) roff(b *strings.Builder) {
	b.WriteString(".TP\n")
	if o.short != "" {
		fmt.Fprintf(b, "\\fB\\-%s\\fR, ", roff(o.short))
	}
	fmt.Fprintf(b, "\\fB\\-\\-%s\\fR", roff(o.Long))
	if o.Value != "" {
		fmt.Fprintf(b, " \\fI%s\\fR", roff(o.Value))
	}
	fmt.Fprintf(b, "\n%s.\n", roff(o.usage+o.defaultText()))
}

// roff escapes text. In roff, a backslash starts an escape, a period or quote at the start of
// a line starts a request, and a bare hyphen becomes a typographic one.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "’", "'").Replace(text)
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
