package scripts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Point is a place that a command line names for a program.
type Point struct {
	Entry  string // the attach point in the language
	Return string // where a call that begins at Entry returns; "" if there are no calls
	Name   string // of the function or the event, as bcc's tools show it
	// AtReturn says that the place itself is the return.
	AtReturn bool
	// InLanguage says that the type is written out, so that values are those of the language.
	// All others are written as for bcc's tools.
	InLanguage bool
}

// At returns the attach point of the place itself.
func (p *Point) At() string {
	if p.AtReturn {
		return p.Return
	}
	return p.Entry
}

// ParsePoint reads a place as bcc's tools take it, or as the language has it:
//
//	FUNCTION, p::FUNCTION, r::FUNCTION                     of the kernel
//	LIBRARY:FUNCTION, p:LIBRARY:FUNCTION, r:LIBRARY:FUNCTION
//	t:SYSTEM:EVENT
//	u:FILE:[PROVIDER:]NAME                                 a USDT probe
//	uprobe:FILE:FUNCTION, kprobe:FUNCTION, …
//
// library returns the name in the language of what bcc names without lib, such as c.
func ParsePoint(text string, library func(string) string) (*Point, error) {
	words := strings.Split(text, ":")
	if strings.ContainsFunc(text, unicode.IsControl) {
		return nil, fmt.Errorf("%q is no place to probe: it has control characters", text)
	}
	if slices.Contains(words[1:], "") && !(len(words) == 3 && words[1] == "") || text == "" || words[len(words)-1] == "" {
		return nil, fmt.Errorf("%q is no place to probe: write FUNCTION, LIBRARY:FUNCTION or t:SYSTEM:EVENT", text)
	}
	if calls := map[string]string{"uprobe": "uretprobe", "kprobe": "kretprobe", "fentry": "fexit"}; calls[words[0]] != "" {
		return pointInLanguage(words, calls[words[0]], false), nil
	}
	entries := map[string]string{"uretprobe": "uprobe", "kretprobe": "kprobe", "fexit": "fentry"}
	if entry := entries[words[0]]; entry != "" {
		return pointInLanguage(words, entry, true), nil
	}
	if slices.Contains([]string{"tracepoint", "usdt", "profile", "software", "hardware"}, words[0]) {
		return &Point{Entry: joined(words), Name: words[len(words)-1], InLanguage: true}, nil
	}
	switch len(words) {
	case 1:
		words = []string{"p", "", words[0]}
	case 2:
		words = []string{"p", words[0], words[1]}
	}
	kind, file, name := words[0], words[1], words[2]
	most := 3
	if kind == "u" {
		most = 4
	}
	if len(words) > most {
		return nil, fmt.Errorf("%q has more than %d words with colons between them", text, most)
	}
	switch kind {
	case "p", "r", "":
		p := &Point{Entry: joined([]string{"kprobe", name}), Return: joined([]string{"kretprobe", name}), Name: name, AtReturn: kind == "r"}
		if file != "" {
			file = library(file)
			p.Entry, p.Return = joined([]string{"uprobe", file, name}), joined([]string{"uretprobe", file, name})
		}
		return p, nil
	case "t":
		if file == "" {
			return nil, fmt.Errorf("%q is no tracepoint: write t:SYSTEM:EVENT", text)
		}
		return &Point{Entry: joined([]string{"tracepoint", file, name}), Name: name}, nil
	case "u":
		if file == "" {
			return nil, fmt.Errorf("%q is no USDT probe: write u:FILE:NAME", text)
		}
		return &Point{Entry: joined(append([]string{"usdt", library(file)}, words[2:]...)), Name: words[len(words)-1]}, nil
	}
	return nil, fmt.Errorf("%q: the type of a probe is p, r, t or u, or one of the language, not %q", text, kind)
}

// pointInLanguage returns the place of a function in the language, with the type of the probe at
// the call's other end.
func pointInLanguage(words []string, other string, atReturn bool) *Point {
	p := &Point{Name: words[len(words)-1], AtReturn: atReturn, InLanguage: true}
	here, there := joined(words), joined(append([]string{other}, words[1:]...))
	p.Entry, p.Return = here, there
	if atReturn {
		p.Entry, p.Return = there, here
	}
	return p
}

// plain is what a word of an attach point may consist of without quotes.
var plain = regexp.MustCompile(`^[\w.*?/+@~-]+$`)

// joined makes an attach point of its words.
func joined(words []string) string {
	var out strings.Builder
	for i, word := range words {
		if i > 0 {
			out.WriteByte(':')
		}
		if !plain.MatchString(word) {
			word = quoted(word)
		}
		out.WriteString(word)
	}
	return out.String()
}

// quoted makes a text of the language.
func quoted(text string) string {
	var out strings.Builder
	out.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			out.WriteByte('\\')
			out.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&out, `\x%02x`, c)
		default:
			out.WriteByte(c)
		}
	}
	out.WriteByte('"')
	return out.String()
}
