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

// Page is what there is to read about one command.
type Page struct {
	Name     string // "on-cpu"
	Summary  string // one line without a period
	Synopsis string // what follows the program's name
	About    []Paragraph
	Examples []Example
	Groups   []Group
	Details  []Paragraph
}

// Paragraph is text that is wrapped, or lines that stay as they are.
type Paragraph struct {
	Text     string
	Verbatim bool
}

// Example is a command line and what it is of, "" if it says that itself.
type Example struct {
	Command, What string
}

// Group is options that belong together.
type Group struct {
	Name    string
	Options []Option
}

// Option is an option of a command. A flag without a value has no Value.
type Option struct {
	Short, Long string // without dashes; Short may be ""
	Value       string // name of the value, "SECONDS"
	Usage       string
	Default     string   // "" if it is not worth telling
	Values      []string // what the value may be, if these are words
}

// The keys of a flag's annotations.
const (
	groupKey  = "ringtap_group"
	valuesKey = "ringtap_values"
)

// SetGroup puts all flags that are in no group yet into this one.
func SetGroup(flags *pflag.FlagSet, group string) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Annotations[groupKey] == nil {
			_ = flags.SetAnnotation(f.Name, groupKey, []string{group}) // the flag is there
		}
	})
}

// SetValues says which words the value of a flag may be.
func SetValues(flags *pflag.FlagSet, name string, words ...string) {
	_ = flags.SetAnnotation(name, valuesKey, words)
}

// Parse reads a help text of the form in the package comment.
func Parse(name, summary, text string) *Page {
	p := &Page{Name: name, Summary: summary}
	blocks := strings.Split(strings.TrimSpace(text), "\n\n")
	p.Synopsis = blocks[0]
	for _, block := range blocks[1:] {
		switch {
		case strings.HasPrefix(block, "  ringtap "):
			p.Examples = append(p.Examples, examples(block)...)
		case p.Examples == nil:
			p.About = append(p.About, paragraph(block))
		default:
			p.Details = append(p.Details, paragraph(block))
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

// AddFlags adds the flags that are not hidden by their groups: those that are named here
// first, in this order, and others in the order of their first flags.
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
	last.Options = append(last.Options, Option{Short: "h", Long: "help", Usage: "show this help"})
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
	o := Option{Short: f.Shorthand, Long: f.Name, Value: value, Usage: usage, Values: f.Annotations[valuesKey]}
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
