package scripts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// point is a place that a command line names for a program.
type point struct {
	entry  string // the attach point in the language
	Return string // where a call that begins at Entry returns; "" if there are no calls
	name   string // of the function or the event, as bcc's tools show it
	// atReturn says that the place itself is the return.
	atReturn bool
	// inLanguage says that the type is written out, so that values are those of the language.
	// All others are written as for bcc's tools.
	inLanguage bool
}

// At returns the attach point of the place itself.
func (p *point) At() string {
	if p.atReturn {
		return p.Return
	}
	return p.entry
}

// parsePoint reads a place as bcc's tools take it, or as the language has it:
//
//	FUNCTION, p::FUNCTION, r::FUNCTION                     of the kernel
//	LIBRARY:FUNCTION, p:LIBRARY:FUNCTION, r:LIBRARY:FUNCTION
//	t:SYSTEM:EVENT
//	u:FILE:[PROVIDER:]NAME                                 a USDT probe
//	uprobe:FILE:FUNCTION, kprobe:FUNCTION, …
//
// library returns the name in the language of what bcc names without lib, such as c.
func parsePoint(text string, library func(string) string) (*point, error) {
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
		return &point{entry: joined(words), name: words[len(words)-1], inLanguage: true}, nil
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
		p := &point{entry: joined([]string{"kprobe", name}), Return: joined([]string{"kretprobe", name}), name: name, atReturn: kind == "r"}
		if file != "" {
			file = library(file)
			p.entry, p.Return = joined([]string{"uprobe", file, name}), joined([]string{"uretprobe", file, name})
		}
		return p, nil
	case "t":
		if file == "" {
			return nil, fmt.Errorf("%q is no tracepoint: write t:SYSTEM:EVENT", text)
		}
		return &point{entry: joined([]string{"tracepoint", file, name}), name: name}, nil
	case "u":
		if file == "" {
			return nil, fmt.Errorf("%q is no USDT probe: write u:FILE:NAME", text)
		}
		return &point{entry: joined(append([]string{"usdt", library(file)}, words[2:]...)), name: words[len(words)-1]}, nil
	}
	return nil, fmt.Errorf("%q: the type of a probe is p, r, t or u, or one of the language, not %q", text, kind)
}

// pointInLanguage returns the place of a function in the language, with the type of the probe at
// the call's other end.
func pointInLanguage(words []string, other string, atReturn bool) *point {
	p := &point{name: words[len(words)-1], atReturn: atReturn, inLanguage: true}
	here, there := joined(words), joined(append([]string{other}, words[1:]...))
	p.entry, p.Return = here, there
	if atReturn {
		p.entry, p.Return = there, here
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
