package manual

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Program is a program and its commands.
type Program struct {
	Name    string // "ringtap"
	Summary string
	Pages   []Page
	Common  []Section // for the page of the program itself
}

// Section is a titled part of a manual page.
type Section struct {
	Title string
	Text  []Paragraph
}

// Page is the documentation of one command.
type Page struct {
	Name     string // "on-cpu"
	summary  string // one line without a period
	synopsis string // what follows the program's name
	about    []Paragraph
	Examples []Example
	Groups   []Group
	details  []Paragraph
}

// Paragraph is text that is wrapped, or lines that stay as they are.
type Paragraph struct {
	Text     string
	verbatim bool
}

// Example is a command line and what it shows. what is "" if the command line is clear by itself.
type Example struct {
	Command, what string
}

// Group is options that belong together.
type Group struct {
	Name    string
	Options []Option
}

// Option is an option of a command. A flag without a value has no Value.
type Option struct {
	short, Long string // without dashes; short may be ""
	Value       string // name of the value, "SECONDS"
	usage       string
	Default     string   // "" if it need not be shown
	values      []string // the words that the value may be; nil if it may be anything
}

// The keys of a flag's annotations.
const (
	groupKey  = "ringtap_group"
	valuesKey = "ringtap_values"
)

// SetGroup puts all flags that have no group yet into this group.
func SetGroup(flags *pflag.FlagSet, group string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Annotations[groupKey] == nil {
			_ = flags.SetAnnotation(f.Name, groupKey, []string{group}) // the flag is there
		}
	})
}

// SetValues sets the words that the value of a flag may be.
func SetValues(flags *pflag.FlagSet, name string, words ...string) {
	_ = flags.SetAnnotation(name, valuesKey, words)
}

// Parse reads a help text of the form in the package comment.
func Parse(name, summary, text string) *Page {
	p := &Page{Name: name, summary: summary}
	blocks := strings.Split(strings.TrimSpace(text), "\n\n")
	p.synopsis = blocks[0]
	for _, block := range blocks[1:] {
		switch {
		case strings.HasPrefix(block, "  ringtap "):
			p.Examples = append(p.Examples, examples(block)...)
		case p.Examples == nil:
			p.about = append(p.about, paragraph(block))
		default:
			p.details = append(p.details, paragraph(block))
		}
	}
	return p
}

func paragraph(block string) Paragraph {
	if strings.HasPrefix(block, "  ") {
		return Paragraph{block, true}
	}
	return Paragraph{strings.Join(strings.Fields(block), " "), false}
}

func examples(block string) []Example {
	var all []Example
	for line := range strings.Lines(block) {
		command, what, _ := strings.Cut(strings.TrimSpace(line), "  ")
		all = append(all, Example{command, strings.TrimSpace(what)})
	}
	return all
}

// AddFlags adds the flags that are not hidden, by group, and --help. The groups named here come
// first, in this order, and then the others in the order of their first flags.
func (p *Page) AddFlags(flags *pflag.FlagSet, groups ...string) {
	for _, name := range groups {
		p.group(name)
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "Options"
		if group := f.Annotations[groupKey]; group != nil {
			name = group[0]
		}
		p.group(name).add(f)
	})
	last := p.group("Help")
	last.Options = append(last.Options, Option{short: "h", Long: "help", usage: "show this help"})
	p.Groups = slices.DeleteFunc(p.Groups, func(g Group) bool { return len(g.Options) == 0 })
}

func (p *Page) group(name string) *Group {
	for i := range p.Groups {
		if p.Groups[i].Name == name {
			return &p.Groups[i]
		}
	}
	p.Groups = append(p.Groups, Group{Name: name})
	return &p.Groups[len(p.Groups)-1]
}

func (g *Group) add(f *pflag.Flag) {
	value, usage := pflag.UnquoteUsage(f)
	o := Option{short: f.Shorthand, Long: f.Name, Value: value, usage: usage, values: f.Annotations[valuesKey]}
	switch f.DefValue {
	case "", "0", "false", "[]":
	default:
		o.Default = f.DefValue
	}
	if f.NoOptDefVal != "" {
		o.Value = ""
	}
	g.Options = append(g.Options, o)
}
