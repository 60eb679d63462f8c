package uprobe

import (
	"strings"

	"github.com/ringtap/ringtap/internal/text/match"
)

// place parses the place of an entry or return probe: a function, a file offset or a source
// line.
func (p *parser) place(d *Definition) error {
	start := p.pos
	if p.at('"') {
		return p.quotedPlace(d)
	}
	if err := p.symbolEnd(); err != nil {
		return err
	}
	word := p.text[start:p.pos]
	if word == "" {
		return p.fail(start, "invalid probe: the symbol is empty")
	}
	if err := p.checkName(word, start, "symbol"); err != nil {
		return err
	}
	if _, hex := cutHex(word); hex {
		addr, err := number(word)
		if err != nil {
			return p.fail(start, "invalid probe: %s is no file offset: 0x and up to 16 hexadecimal digits", word)
		}
		d.Place, d.Address = PlaceOffset, addr
		return nil
	}
	if file, digits, ok := cutLine(word); ok {
		d.File = plain(file)
		return p.line(d, digits, start+len(file)+1)
	}
	d.Symbol = word
	if i := offsetStart(word); i >= 0 {
		d.Symbol = word[:i]
		if err := p.offset(d, word[i+1:], start+i); err != nil {
			return err
		}
	}
	d.Pattern = match.IsGlob(d.Symbol)
	if !d.Pattern {
		d.Symbol = plain(d.Symbol)
	}
	if d.Pattern && d.Offset > 0 {
		return p.fail(start+len(d.Symbol), "invalid probe: an offset from functions that a pattern stands for")
	}
	return nil
}

// plain removes the backslashes before a symbol's spaces.
func plain(symbol string) string { return strings.ReplaceAll(symbol, `\ `, " ") }

// quotedPlace parses "SYMBOL", "SYMBOL"+OFF or "FILE":LINE.
func (p *parser) quotedPlace(d *Definition) error {
	start := p.pos
	name, err := p.quoted()
	if err != nil {
		return err
	}
	if name == "" {
		return p.fail(start, "invalid probe: the symbol is empty")
	}
	if err := p.checkName(name, start, "symbol"); err != nil {
		return err
	}
	end := p.pos
	for !p.done() {
		p.pos++
	}
	switch rest := p.text[end:p.pos]; {
	case rest == "":
		d.Symbol = name
	case rest[0] == '+':
		d.Symbol = name
		return p.offset(d, rest[1:], end)
	case rest[0] == ':':
		d.File = name
		return p.line(d, rest[1:], end+1)
	default:
		return p.fail(end, "invalid probe: after the quoted symbol comes +OFFSET, :LINE or a blank")
	}
	return nil
}

func (p *parser) line(d *Definition, digits string, pos int) error {
	n, err := number(digits)
	if err != nil || n == 0 || n > 1<<31-1 {
		return p.fail(pos, "invalid probe: %q is no line number", digits)
	}
	if d.Kind == Return {
		return p.fail(pos, "invalid probe: a line does not return; r: takes a function")
	}
	d.Place, d.Line = PlaceLine, int(n)
	return nil
}

// offset parses the text after the plus sign at pos.
func (p *parser) offset(d *Definition, text string, pos int) error {
	n, err := number(text)
	if err != nil {
		return p.fail(pos+1, "invalid probe: %q is no offset in bytes: decimal or 0x…", text)
	}
	if d.Kind == Return && n > 0 {
		return p.fail(pos, "invalid probe: a return probe is on a whole function, without an offset")
	}
	d.Offset = n
	return nil
}

// cutLine splits "file.c:42". It does not split a C++ name: its parts are separated by two
// colons, and do not start with a digit.
func cutLine(word string) (file, digits string, ok bool) {
	i := strings.LastIndexByte(word, ':')
	if i <= 0 || i == len(word)-1 || word[i-1] == ':' || !isDigit(word[i+1]) {
		return "", "", false
	}
	return word[:i], word[i+1:], true
}

// offsetStart returns the index of the plus sign in SYMBOL+OFF, or -1. It ignores a plus sign
// of a C++ operator.
func offsetStart(word string) int {
	i := strings.LastIndexByte(word, '+')
	if i <= 0 || strings.HasSuffix(word[:i], "operator") || strings.HasSuffix(word, "operator++") {
		return -1
	}
	if strings.ContainsAny(word[i:], ")>") {
		return -1 // within parameters or template arguments
	}
	return i
}

// symbolEnd moves to the end of an unquoted symbol: the first space that is not within the
// parentheses or angle brackets of a C++ or Rust name, nor after a backslash.
func (p *parser) symbolEnd() error {
	var open []int // positions of the brackets that are not closed yet
	start, blanks := p.pos, false
	pattern := func() bool { return match.IsGlob(p.text[start:p.pos]) } // the * of a pattern may stand for a bracket
	for p.pos < len(p.text) && (len(open) > 0 || !isBlank(p.text[p.pos])) {
		top := byte(0)
		if len(open) > 0 {
			top = p.text[open[len(open)-1]]
		}
		switch c := p.text[p.pos]; c {
		case '"':
			return p.fail(p.pos, "invalid probe: a quote within the symbol; quote all of it")
		case '\\':
			p.pos = min(p.pos+1, len(p.text)-1)
		case '(', '<':
			open = append(open, p.pos)
		case ')':
			if top != '(' && pattern() {
				break
			}
			if top != '(' {
				return p.fail(p.pos, "invalid probe: this ) closes nothing; quote a name that is to be taken as it is")
			}
			open = open[:len(open)-1]
		case '>':
			arrow := p.text[p.pos-1] == '-' // fn() -> T
			if top == '<' && !arrow {
				open = open[:len(open)-1]
			} else if top == 0 && !arrow && !pattern() {
				return p.fail(p.pos, "invalid probe: this > closes nothing; quote a name that is to be taken as it is")
			}
		case ' ', '\t', '\n':
			blanks = true
		case 'r':
			// "operator" is directly followed by its sign: <, >>, ->, ().
			if word := p.text[start : p.pos+1]; isOperator(word) {
				p.operatorSigns()
			}
		}
		p.pos++
	}
	if len(open) > 0 && (blanks || !pattern()) {
		at := open[len(open)-1]
		return p.fail(at, "invalid probe: this %c is never closed; quote a name that is to be taken as it is", p.text[at])
	}
	return nil
}

// isOperator reports whether a name ends with the C++ keyword operator.
func isOperator(name string) bool {
	before, ok := strings.CutSuffix(name, "operator")
	if !ok || before == "" {
		return ok
	}
	c := before[len(before)-1]
	return c != '_' && !isLetter(c) && !isDigit(c)
}

// operatorSigns moves to the last sign of an operator's name.
func (p *parser) operatorSigns() {
	rest := p.text[p.pos+1:]
	if strings.HasPrefix(rest, "()") {
		p.pos += 2
		return
	}
	for _, signs := range []string{"->*", "<=>", "<<=", ">>=", "->", "<<", ">>", "<=", ">=", "<", ">"} {
		if strings.HasPrefix(rest, signs) {
			p.pos += len(signs)
			return
		}
	}
}
