package uprobe

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
)

// maxName is the maximum length of a name; for a path it is PATH_MAX. Names of C++ templates
// are long, but nobody types one of four thousand bytes.
const maxName = 4096

// Parse parses a definition; the package documentation has the syntax. The error is a
// *ftrace.SyntaxError that points at the mistake.
func Parse(text string) (*Definition, error) {
	p := &parser{text: text}
	d := &Definition{Text: text}
	if err := p.definition(d); err != nil {
		return nil, err
	}
	return d, nil
}

type parser struct {
	text string
	pos  int
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

func (p *parser) blanks() {
	for p.pos < len(p.text) && isBlank(p.text[p.pos]) {
		p.pos++
	}
}

// at reports whether the next character is c.
func (p *parser) at(c byte) bool { return p.pos < len(p.text) && p.text[p.pos] == c }

// done reports whether the current word has ended.
func (p *parser) done() bool { return p.pos == len(p.text) || isBlank(p.text[p.pos]) }

func (p *parser) definition(d *Definition) error {
	if err := p.kind(d); err != nil {
		return err
	}
	// As in perf-tools: if the first word has no colon, it is an alias, and then the second
	// word must have one.
	p.blanks()
	start := p.pos
	word, colon, err := p.target()
	if err != nil {
		return err
	}
	if !colon {
		if word == "" {
			return p.fail(start, "invalid probe: no target; it is %c:TARGET:%s", d.Kind, d.Kind.placeForm())
		}
		if err := p.alias(d, word, start); err != nil {
			return err
		}
		p.blanks()
		start = p.pos
		if word, colon, err = p.target(); err != nil {
			return err
		}
		if !colon {
			return p.fail(p.pos, "invalid probe: no colon in the target; it is %c:TARGET:%s, or with a name for the event %[1]c:NAME TARGET:%[2]s", d.Kind, d.Kind.placeForm())
		}
	}
	if word == "" {
		return p.fail(start, "invalid probe: the target is empty: give a path, a command or a library such as libc")
	}
	d.Target = word
	if d.Kind == Mark {
		err = p.mark(d)
	} else {
		err = p.place(d)
	}
	if err != nil {
		return err
	}
	return p.args(d)
}

func (p *parser) kind(d *Definition) error {
	colon := strings.IndexByte(p.text, ':')
	switch {
	case colon < 0:
		return p.fail(0, "invalid probe: it has no colon; it is p:TARGET:SYMBOL, or r: for the return, u: for a USDT probe")
	case colon != 1 || !strings.ContainsRune("pru", rune(p.text[0])):
		return p.fail(0, "a probe starts with p: (entry), r: (return) or u: (USDT), as in p:libc:malloc")
	}
	d.Kind = Kind(p.text[0])
	p.pos = 2
	return nil
}

// placeForm returns the syntax of the place after the target.
func (k Kind) placeForm() string {
	if k == Mark {
		return "PROVIDER:NAME"
	}
	return "SYMBOL"
}

// target reads up to a colon, which it skips, or a space.
func (p *parser) target() (word string, colon bool, err error) {
	start := p.pos
	if p.at('"') {
		if word, err = p.quoted(); err != nil {
			return "", false, err
		}
		if !p.done() && !p.at(':') {
			return "", false, p.fail(p.pos, "invalid probe: a colon follows the quoted target")
		}
	} else {
		for !p.done() && !p.at(':') {
			p.pos++
		}
		word = p.text[start:p.pos]
	}
	if err := p.checkName(word, start, "target"); err != nil {
		return "", false, err
	}
	if colon = p.at(':'); colon {
		p.pos++
	}
	return word, colon, nil
}

// quoted reads a text in double quotes. A backslash quotes a quote or another backslash.
func (p *parser) quoted() (string, error) {
	start := p.pos
	var out strings.Builder
	for p.pos++; p.pos < len(p.text); p.pos++ {
		c := p.text[p.pos]
		switch {
		case c == '"':
			p.pos++
			return out.String(), nil
		case c == '\\' && p.pos+1 < len(p.text) && strings.IndexByte(`"\`, p.text[p.pos+1]) >= 0:
			p.pos++
			c = p.text[p.pos]
		}
		out.WriteByte(c)
	}
	return "", p.fail(start, "invalid probe: this quote is never closed")
}

// checkName checks that name can be a name. kind is the kind of name, for the error.
func (p *parser) checkName(name string, pos int, kind string) error {
	if len(name) > maxName {
		return p.fail(pos, "invalid probe: a %s of %d characters; more than %d are not taken", kind, len(name), maxName)
	}
	if i := strings.IndexFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }); i >= 0 {
		return p.fail(pos, "invalid probe: the %s has the control character %q", kind, name[i])
	}
	return nil
}

func (p *parser) alias(d *Definition, word string, pos int) error {
	for i := range len(word) {
		if c := word[i]; c != '_' && !isLetter(c) && (i == 0 || !isDigit(c)) {
			return p.fail(pos+i, "invalid probe: the name of an event has letters, digits and _ only, and no digit first")
		}
	}
	if len(word) > ftrace.MaxEventName {
		return p.fail(pos, "invalid probe: an event's name of %d characters; the kernel takes %d at most", len(word), ftrace.MaxEventName)
	}
	d.Alias = word
	return nil
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// mark parses provider:name.
func (p *parser) mark(d *Definition) error {
	start := p.pos
	for !p.done() {
		p.pos++
	}
	word := p.text[start:p.pos]
	if err := p.checkName(word, start, "name"); err != nil {
		return err
	}
	provider, name, ok := strings.Cut(word, ":")
	switch {
	case !ok:
		return p.fail(p.pos, "invalid probe: a USDT probe is u:TARGET:PROVIDER:NAME")
	case provider == "":
		return p.fail(start, "invalid probe: the provider is empty; * stands for all")
	case name == "":
		return p.fail(p.pos, "invalid probe: the probe's name is empty; * stands for all")
	case strings.Contains(name, ":"):
		return p.fail(start+len(provider)+1+strings.IndexByte(name, ':'), "invalid probe: a USDT probe is u:TARGET:PROVIDER:NAME, without a further colon")
	}
	d.Place, d.Provider, d.Mark = PlaceMark, provider, name
	return nil
}

func (p *parser) fail(pos int, format string, args ...any) error {
	return &ftrace.SyntaxError{Text: p.text, Pos: pos, Message: fmt.Sprintf(format, args...)}
}

// number parses a decimal or 0x… number; nothing may follow it.
func number(text string) (uint64, error) {
	if digits, ok := cutHex(text); ok {
		return strconv.ParseUint(digits, 16, 64)
	}
	return strconv.ParseUint(text, 10, 64)
}

func cutHex(text string) (digits string, ok bool) {
	if len(text) > 1 && text[0] == '0' && text[1]|0x20 == 'x' {
		return text[2:], true
	}
	return text, false
}
