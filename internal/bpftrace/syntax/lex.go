package syntax

import "strings"

type kind uint8

const (
	kindEnd        kind = iota
	kindName            // foo
	kindNumber          // 1, 0x1f, 1e6, 10ms
	kindString          // "…", with its quotes
	kindChar            // '…', with its quotes
	kindVar             // $x
	kindMap             // @x, @
	kindPositional      // $1
	kindCount           // $#
	kindOp              // punctuation
	kindDirective       // a line of the preprocessor, without its #
	kindBad             // an invalid character, or an unclosed comment or string
)

// token is a piece of the text. A token from a macro's body has the position at which the macro is
// used.
type token struct {
	kind   kind
	text   string
	pos    Pos
	off    int // offset of its first byte in the text
	length int // in bytes
	hidden *origins
}

// origins is the list of macros that a token was expanded from. Lists share their tails.
type origins struct {
	name  string
	next  *origins
	depth int // of the list
}

func (n *origins) add(name string) *origins {
	if n == nil {
		return &origins{name: name, depth: 1}
	}
	return &origins{name, n, n.depth + 1}
}

func (n *origins) has(name string) bool {
	for ; n != nil; n = n.next {
		if n.name == name {
			return true
		}
	}
	return false
}

func (t token) is(op string) bool    { return t.kind == kindOp && t.text == op }
func (t token) isName(n string) bool { return t.kind == kindName && t.text == n }
func (t token) found() string        { return describe(t.kind, t.text) }

// brace returns the change of the brace depth after t.
func (t token) brace() int {
	switch {
	case t.is("{"):
		return 1
	case t.is("}"):
		return -1
	}
	return 0
}

// depthOf returns the change of the brace depth after all tokens.
func depthOf(tokens []token) int {
	depth := 0
	for _, t := range tokens {
		depth += t.brace()
	}
	return depth
}

func isDigit(c byte) bool     { return '0' <= c && c <= '9' }
func isNameByte(c byte) bool  { return isNameStart(c) || isDigit(c) }
func isNameStart(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' }
func isBlank(c byte) bool     { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' }
func describe(k kind, s string) string {
	switch {
	case k == kindEnd:
		return "the end of the program"
	case k == kindString || len(s) > 40:
		return shorten(s, 40)
	}
	return `"` + s + `"`
}

// operators are the operators of more than one character, longest first.
var operators = [...]string{
	"<<=", ">>=", "...",
	"->", "..", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--",
	"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##",
}

// lexer splits a text into tokens.
type lexer struct {
	file      string
	text      string
	off       int
	line      int // of off, from 1
	lineStart int // offset of the line's first byte
}

func newLexer(file, text string) *lexer { return &lexer{file: file, text: text, line: 1} }

func (l *lexer) pos() Pos { return Pos{File: l.file, Line: l.line, Col: l.off - l.lineStart + 1} }

// back moves back to the token t of the same text.
func (l *lexer) back(t token) {
	l.off, l.line, l.lineStart = t.off, t.pos.Line, t.off-t.pos.Col+1
}

// next returns the next token.
func (l *lexer) next() token {
	if t, ok := l.skipLayout(); !ok {
		return t
	}
	start := token{pos: l.pos(), off: l.off}
	rest := l.text[l.off:]
	if rest == "" {
		return start
	}
	start.kind, start.length = measure(rest)
	if start.kind == kindOp && rest[0] == '#' && l.startsLine() {
		l.off++
		start.kind, start.text = kindDirective, l.logicalLine()
		start.length = 1
		return start
	}
	start.text = rest[:start.length]
	for end := l.off + start.length; l.off < end; {
		if l.text[l.off] == '\n' { // in a string
			l.newline()
		} else {
			l.off++
		}
	}
	return start
}

// startsLine reports whether only blanks precede the current position on its line.
func (l *lexer) startsLine() bool {
	return strings.TrimLeft(l.text[l.lineStart:l.off], " \t\r\f\v") == ""
}

func (l *lexer) newline() {
	l.off++
	l.line++
	l.lineStart = l.off
}

// skipLayout moves to the next token. If a comment is not closed, it returns it as a token and
// false.
func (l *lexer) skipLayout() (token, bool) {
	if l.off == 0 && strings.HasPrefix(l.text, "#!") {
		l.skipLine()
	}
	for l.off < len(l.text) {
		rest := l.text[l.off:]
		switch c := rest[0]; {
		case c == '\n':
			l.newline()
		case isBlank(c):
			l.off++
		case strings.HasPrefix(rest, "\\\n"):
			l.off++
			l.newline()
		case strings.HasPrefix(rest, "//"):
			l.skipLine()
		case strings.HasPrefix(rest, "/*"):
			t := token{kind: kindBad, text: "/*", pos: l.pos(), off: l.off, length: 2}
			n := strings.Index(rest[2:], "*/")
			if n < 0 {
				l.off = len(l.text)
				return t, false
			}
			for end := l.off + n + 4; l.off < end; {
				if l.text[l.off] == '\n' {
					l.newline()
				} else {
					l.off++
				}
			}
		default:
			return token{}, true
		}
	}
	return token{}, true
}

// skipLine moves to the end of the line.
func (l *lexer) skipLine() {
	n := strings.IndexByte(l.text[l.off:], '\n')
	if n < 0 {
		n = len(l.text) - l.off
	}
	l.off += n
}

// logicalLine reads the rest of a line, including lines that a backslash continues.
func (l *lexer) logicalLine() string {
	var line strings.Builder
	for {
		start := l.off
		l.skipLine()
		part := strings.TrimSuffix(l.text[start:l.off], "\r")
		if l.off == len(l.text) || !strings.HasSuffix(part, "\\") {
			line.WriteString(part)
			return line.String()
		}
		line.WriteString(part[:len(part)-1] + " ")
		l.newline()
	}
}

// measure returns the kind and the length of the token at the start of text, which must not be
// empty.
func measure(text string) (kind, int) {
	c := text[0]
	switch {
	case isNameStart(c):
		return kindName, nameLength(text)
	case isDigit(c):
		return kindNumber, nameLength(text)
	case c == '"':
		return quoted(text, kindString)
	case c == '\'':
		return quoted(text, kindChar)
	case c == '@':
		return kindMap, 1 + identifierLength(text[1:])
	case c == '$' && len(text) > 1 && text[1] == '#':
		return kindCount, 2
	case c == '$' && len(text) > 1 && isDigit(text[1]):
		return kindPositional, 1 + nameLength(text[1:])
	case c == '$' && len(text) > 1 && isNameStart(text[1]):
		return kindVar, 1 + nameLength(text[1:])
	}
	for _, op := range operators {
		if strings.HasPrefix(text, op) {
			return kindOp, len(op)
		}
	}
	if strings.IndexByte("(){}[];,:?.<>=!&|^+-*/%~#", c) >= 0 {
		return kindOp, 1
	}
	n := 1
	for n < len(text) && c >= 0x80 && text[n]&0xc0 == 0x80 {
		n++ // the rest of a multi-byte character
	}
	return kindBad, n
}

func identifierLength(text string) int {
	if text == "" || !isNameStart(text[0]) {
		return 0
	}
	return nameLength(text)
}

func nameLength(text string) int {
	n := 0
	for n < len(text) && isNameByte(text[n]) {
		n++
	}
	return n
}

// quoted measures a string or a character. A string may span lines. If the quote is not closed, the
// token ends with its line.
func quoted(text string, k kind) (kind, int) {
	for i := 1; i < len(text) && (k == kindString || text[i] != '\n'); i++ {
		switch text[i] {
		case '\\':
			i++
			if k != kindString && i < len(text) && text[i] == '\n' {
				return kindBad, i
			}
		case text[0]:
			return k, i + 1
		}
	}
	if n := strings.IndexByte(text, '\n'); n >= 0 {
		return kindBad, n
	}
	return kindBad, len(text)
}
