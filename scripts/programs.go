// Package scripts holds the programs in the one-liner language that ringtap ships. Each is a file
// of this folder, which runs by itself, too.
//
// What a user reads about a program stands in the file. The comment at its head is of this form:
//
//	NAME shows SUMMARY. More sentences.
//
//		NAME ARGUMENT...    an example, and what it is of
//
//	Usage: ARGUMENT [ARGUMENT]...
//
//	Options:
//
//		-L, --list-like TEXT    that may be repeated
//
//	Details.
//
// Its options are its calls of getopt with constants. The third one is the help text. If that
// begins with a dash, a letter and a colon, the letter is the short form of the option.
package scripts

import (
	"embed"
	"math"
	"regexp"
	"strconv"
	"strings"
)

//go:embed *.bt
var files embed.FS

// Program is a shipped program.
type Program struct {
	Name    string
	Text    string
	Summary string   // one line without a period: what it does
	About   []string // more paragraphs
	Example []Example
	Usage   string // of its arguments: "NAME [NAME]", "NAME..."; "" if it takes none
	Options []Option
}

// Example is a command line and what it is of.
type Example struct{ Command, What string }

// Option is an option of a program.
type Option struct {
	Name, Short string // without dashes; Short may be ""
	Help        string
	Default     string // as getopt has it: a number, or a text without its quotes
	Kind        Kind
}

// Kind is what an option takes.
type Kind uint8

// The kinds.
const (
	Flag   Kind = iota // nothing
	Number             // an integer
	Text
	Texts  // may be repeated
	Device // a block device, as MAJOR,MINOR
)

// All returns the programs, by name.
func All() []Program {
	entries, _ := files.ReadDir(".") // what is embedded is there
	var all []Program
	for _, entry := range entries {
		text, _ := files.ReadFile(entry.Name())
		p := Program{Name: strings.TrimSuffix(entry.Name(), ".bt"), Text: string(text)}
		p.readHead()
		p.readOptions()
		all = append(all, p)
	}
	return all
}

// Arguments returns how many arguments the program takes, at least and at most. maxArgs
// is math.MaxInt if there is no limit.
func (p *Program) Arguments() (minArgs, maxArgs int) {
	for _, word := range strings.Fields(p.Usage) {
		maxArgs++
		if !strings.HasPrefix(word, "[") {
			minArgs++
		}
		if strings.HasSuffix(word, "...") {
			maxArgs = math.MaxInt
		}
	}
	return minArgs, maxArgs
}

// Number returns the name of the i-th argument, such as SECONDS, and whether it is a number.
func (p *Program) Number(i int) (name string, ok bool) {
	words := strings.Fields(p.Usage)
	if i >= len(words) {
		return "", false
	}
	name = strings.Trim(words[i], "[].")
	return name, name != "TEXT" && name != "PROBE"
}

// readHead reads the comment at the head.
func (p *Program) readHead() {
	var head strings.Builder
	for line := range strings.Lines(p.Text) {
		if strings.HasPrefix(line, "#!") {
			continue
		}
		comment, ok := strings.CutPrefix(line, "//")
		if !ok {
			break
		}
		head.WriteString(strings.TrimPrefix(comment, " "))
	}
	blocks := strings.Split(strings.TrimSpace(head.String()), "\n\n")
	verb, rest, _ := strings.Cut(strings.TrimPrefix(unwrapped(blocks[0]), p.Name+" "), "s ")
	first, more, _ := strings.Cut(rest, ". ")
	p.Summary = verb + " " + strings.TrimSuffix(first, ".")
	if more != "" {
		p.About = append(p.About, more)
	}
	options := false
	for _, block := range blocks[1:] {
		usage, isUsage := strings.CutPrefix(block, "Usage: ")
		switch {
		case block == "Options:":
			options = true
		case options:
			p.readList(block)
			options = false
		case strings.HasPrefix(block, "\t"):
			for line := range strings.Lines(block) {
				command, what, _ := strings.Cut(strings.TrimSpace(line), "  ")
				p.Example = append(p.Example, Example{command, strings.TrimSpace(what)})
			}
		case isUsage:
			p.Usage = usage
		default:
			p.About = append(p.About, unwrapped(block))
		}
	}
}

// readList reads the options that may be repeated.
func (p *Program) readList(block string) {
	line := regexp.MustCompile(`(?m)^\t-(\w), --([\w-]+) (\w+) +(.*)$`)
	for _, found := range line.FindAllStringSubmatch(block, -1) {
		help := strings.ReplaceAll(found[4], found[3], "`"+found[3]+"`")
		p.Options = append(p.Options, Option{Name: found[2], Short: found[1], Help: help, Kind: Texts})
	}
}

// unwrapped joins the lines of a paragraph.
func unwrapped(block string) string { return strings.Join(strings.Fields(block), " ") }

// readOptions finds the options.
func (p *Program) readOptions() {
	call := regexp.MustCompile(`getopt\("([^"]+)", ("[^"]*"|-?\w+), "(?:-(\w): )?([^"]+)"\)`)
	for _, found := range call.FindAllStringSubmatch(p.Text, -1) {
		o := Option{Name: found[1], Default: found[2], Short: found[3], Help: found[4], Kind: Number}
		if text, err := strconv.Unquote(o.Default); err == nil {
			o.Default, o.Kind = text, Text
			if strings.Contains(o.Help, "`MAJOR,MINOR`") {
				o.Kind = Device
			}
		} else if o.Default == "false" {
			o.Kind = Flag
		}
		p.Options = append(p.Options, o)
	}
}
