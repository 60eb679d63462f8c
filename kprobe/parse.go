package kprobe

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/text/match"
)

// Maximum lengths of the kernel's names: KSYM_NAME_LEN without the NUL byte (since 6.1; 127
// before), and MODULE_NAME_LEN.
const (
	maxSymbol = 511
	maxModule = 55
)

// Parse parses a definition; the package documentation has the syntax. The error is a
// *ftrace.SyntaxError that points at the mistake.
func Parse(text string) (*Definition, error) { return parse(text, false) }

// parse parses a definition. If function is true, its first word is the function, not an alias.
func parse(text string, function bool) (*Definition, error) {
	p := &parser{text: text}
	d := &Definition{Text: text}
	if err := p.definition(d, function); err != nil {
		return nil, err
	}
	return d, nil
}

type parser struct {
	text string
	pos  int
}

func (p *parser) fail(pos int, format string, args ...any) error {
	return &ftrace.SyntaxError{Text: p.text, Pos: pos, Message: fmt.Sprintf(format, args...)}
}

func isBlank(c byte) bool  { return c == ' ' || c == '\t' || c == '\n' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

func isIdentifier(s string) bool {
	for i := range len(s) {
		if !isLetter(s[i]) && (i == 0 || !isDigit(s[i])) {
			return false
		}
	}
	return s != ""
}

func (p *parser) blanks() {
	for p.pos < len(p.text) && isBlank(p.text[p.pos]) {
		p.pos++
	}
}

// done reports whether the current word has ended.
func (p *parser) done() bool { return p.pos == len(p.text) || isBlank(p.text[p.pos]) }

// word reads up to a space outside of double quotes.
func (p *parser) word() string {
	start := p.pos
	for quoted := false; p.pos < len(p.text) && (quoted || !p.done()); p.pos++ {
		quoted = quoted != (p.text[p.pos] == '"')
	}
	return p.text[start:p.pos]
}

func (p *parser) definition(d *Definition, function bool) error {
	if err := p.kind(d); err != nil {
		return err
	}
	p.blanks()
	start := p.pos
	word := p.word()
	if word == "" {
		return p.fail(start, "invalid probe: no function; it is %c:FUNCTION, for instance %[1]c:vfs_read", d.Kind)
	}
	afterFirst := p.pos
	p.blanks()
	second := p.pos
	if next := p.word(); !function && isIdentifier(word) && next != "" && !isFetchWord(next) {
		switch {
		case len(word) > ftrace.MaxEventName:
			return p.fail(start, "invalid probe: an event's name of %d characters; the kernel takes %d at most", len(word), ftrace.MaxEventName)
		case word == "enable" || word == "filter":
			return p.fail(start, "invalid probe: an event can't be called %s, as a file beside it in tracefs is", word)
		}
		d.Alias = word
		if err := p.place(d, next, second); err != nil {
			return err
		}
		return p.args(d)
	}
	p.pos = afterFirst
	if err := p.place(d, word, start); err != nil {
		return err
	}
	return p.args(d)
}

func (p *parser) kind(d *Definition) error {
	colon := strings.IndexByte(p.text, ':')
	switch {
	case colon < 0:
		return p.fail(0, "invalid probe: it has no colon; it is p:FUNCTION, or r:FUNCTION for the return")
	case colon != 1 || p.text[0] != 'p' && p.text[0] != 'r':
		return p.fail(0, "a probe starts with p: (entry) or r: (return), as in p:vfs_open")
	}
	d.Kind = Kind(p.text[0])
	p.pos = 2
	return nil
}

// place parses [MODULE:]FUNCTION[+OFFSET] or 0xADDRESS at pos.
func (p *parser) place(d *Definition, word string, pos int) error {
	if i := strings.IndexFunc(word, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0xa0 || r == '#' }); i >= 0 {
		return p.fail(pos+i, "invalid probe: no function's name has the character %q", word[i])
	}
	if digits, ok := cutHex(word); ok {
		address, err := strconv.ParseUint(digits, 16, 64)
		if err != nil || address == 0 {
			return p.fail(pos, "invalid probe: %s is no address: 0x and up to 16 hexadecimal digits", word)
		}
		d.Address = address
		return nil
	}
	if module, rest, ok := strings.Cut(word, ":"); ok && !strings.Contains(module, `"`) {
		if strings.Trim(module, moduleLetters) != "" || module == "" || len(module) > maxModule {
			return p.fail(pos, "invalid probe: %q is no name of a module; it is MODULE:FUNCTION", module)
		}
		d.Module = module
		pos += len(module) + 1
		word = rest
	}
	if strings.HasPrefix(word, `"`) {
		return p.quoted(d, word, pos)
	}
	if err := p.checkFunction(word, pos); err != nil {
		return err
	}
	d.Symbol = word
	if plus := strings.IndexByte(word, '+'); plus >= 0 {
		d.Symbol = word[:plus]
		if err := p.offset(d, word[plus+1:], pos+plus+1); err != nil {
			return err
		}
	}
	d.Pattern = match.IsGlob(d.Symbol)
	if err := p.checkGlob(d.Symbol, pos, "invalid probe: "); err != nil {
		return err
	}
	switch {
	case d.Symbol == "":
		return p.fail(pos, "invalid probe: the function's name is empty")
	case len(d.Symbol) > maxSymbol:
		return p.fail(pos, "invalid probe: a function's name of %d characters; the kernel has none longer than %d", len(d.Symbol), maxSymbol)
	case d.Pattern && d.Offset > 0:
		return p.fail(pos+len(d.Symbol), "invalid probe: an offset from functions that a pattern stands for")
	}
	return nil
}

// checkGlob returns an error that points into the pattern, which is at pos.
func (p *parser) checkGlob(pattern string, pos int, prefix string) error {
	_, err := match.ParseGlob(pattern)
	if wrong := (*match.GlobError)(nil); errors.As(err, &wrong) {
		return p.fail(pos+wrong.Pos, "%s%v", prefix, wrong)
	}
	return err
}

const moduleLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."

// checkFunction returns a helpful error if word cannot be the name of a function.
func (p *parser) checkFunction(word string, pos int) error {
	if base, ok := strings.CutSuffix(word, "%return"); ok {
		return p.fail(pos+len(base), "invalid probe: a return probe is r:%s", base)
	}
	if i := strings.IndexAny(word, `"'%$=@\(){},;:/`); i >= 0 && word[i] != '$' {
		return p.fail(pos+i, "invalid probe: %q is in no function's name; it is {p|r}:[NAME ]FUNCTION[+OFFSET][ ARGUMENTS]", word[i])
	}
	if i := strings.IndexByte(word, '-'); i >= 0 {
		return p.fail(pos+i, "invalid probe: no name has a '-', and an offset counts from the function's start on: FUNCTION+OFFSET")
	}
	return nil
}

// quoted parses "FUNCTION" or "FUNCTION"+OFFSET.
func (p *parser) quoted(d *Definition, word string, pos int) error {
	name, rest, ok := strings.Cut(word[1:], `"`)
	switch {
	case !ok:
		return p.fail(pos, "invalid probe: this quote is never closed")
	case name == "":
		return p.fail(pos, "invalid probe: the function's name is empty")
	case len(name) > maxSymbol:
		return p.fail(pos, "invalid probe: a function's name of %d characters; the kernel has none longer than %d", len(name), maxSymbol)
	case strings.ContainsAny(name, " \t\n+"):
		return p.fail(pos, "invalid probe: no function's name has a blank or a plus sign")
	}
	d.Symbol = name
	if rest == "" {
		return nil
	}
	if rest[0] != '+' {
		return p.fail(pos+len(name)+2, "invalid probe: after the quoted name comes +OFFSET or a blank")
	}
	return p.offset(d, rest[1:], pos+len(name)+3)
}

// offset parses the text after the plus sign, which is at pos.
func (p *parser) offset(d *Definition, text string, pos int) error {
	digits, hex := cutHex(text)
	base := 10
	if hex {
		base = 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil {
		return p.fail(pos, "invalid probe: %q is no offset in bytes: decimal or 0x…", text)
	}
	if d.Kind == Return && n > 0 {
		return p.fail(pos-1, "invalid probe: a return probe is on a whole function, without an offset")
	}
	d.Offset = n
	return nil
}

func cutHex(text string) (digits string, ok bool) {
	if len(text) > 1 && text[0] == '0' && text[1]|0x20 == 'x' {
		return text[2:], true
	}
	return text, false
}
