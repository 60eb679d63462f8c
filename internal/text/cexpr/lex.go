package cexpr

import (
	"fmt"
	"strconv"
	"strings"
)

// Error is a syntax error in an expression.
type Error struct {
	Pos     int // byte offset in the text
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func fail(pos int, format string, args ...any) error {
	return &Error{pos, fmt.Sprintf(format, args...)}
}

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenNumber // or a character
	tokenString
	tokenOperator
)

// token is one C token. text is a name, an operator, or the content of a string.
type token struct {
	kind   tokenKind
	pos    int
	text   string
	number uint64
	typ    Type
}

// operators with more than one character.
var operators = [...]string{"->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"}

// lex splits a text into tokens; the last one is tokenEnd. Adjacent strings are joined.
// isFilter is Parser.Filter.
func lex(text string, isFilter bool) ([]token, error) {
	var tokens []token
	for pos := 0; ; {
		pos += len(text[pos:]) - len(strings.TrimLeft(text[pos:], " \t\r\n"))
		if pos == len(text) {
			return append(tokens, token{pos: pos}), nil
		}
		lexOne := lexOne
		if isFilter {
			lexOne = lexFilter
		}
		t, n, err := lexOne(text[pos:], pos)
		if err != nil {
			return nil, err
		}
		t.pos = pos
		pos += n
		if last := len(tokens) - 1; t.kind == tokenString && last >= 0 && tokens[last].kind == tokenString {
			tokens[last].text += t.text
		} else {
			tokens = append(tokens, t)
		}
	}
}

// lexOne returns the token at the start of text, and its length.
func lexOne(text string, pos int) (t token, n int, err error) {
	switch c := text[0]; {
	case '0' <= c && c <= '9':
		return lexNumber(text, pos)
	case isNameByte(c), c == '$' && len(text) > 1 && isNameByte(text[1]):
		for n = 1; n < len(text) && isNameByte(text[n]); n++ {
		}
		return token{kind: tokenName, text: text[:n]}, n, nil
	case c == '"' || c == '\'':
		content, n, ok := lexQuoted(text, c)
		switch {
		case !ok:
			return t, 0, fail(pos, "the quote is not closed")
		case c == '"':
			return token{kind: tokenString, text: content}, n, nil
		case len(content) != 1:
			return t, 0, fail(pos, "one character belongs between these quotes")
		}
		return token{kind: tokenNumber, number: uint64(content[0]), typ: Int}, n, nil
	}
	for _, op := range operators {
		if strings.HasPrefix(text, op) {
			return token{kind: tokenOperator, text: op}, len(op), nil
		}
	}
	return token{kind: tokenOperator, text: text[:1]}, 1, nil
}

// lexFilter is lexOne for event filters. Their strings are in single or double quotes without
// escapes, and they have the operator !~.
func lexFilter(text string, pos int) (t token, n int, err error) {
	switch quote := text[0]; {
	case quote == '"' || quote == '\'':
		end := strings.IndexByte(text[1:], quote)
		if end < 0 {
			return t, 0, fail(pos, "the quote is not closed")
		}
		return token{kind: tokenString, text: text[1 : 1+end]}, end + 2, nil
	case strings.HasPrefix(text, "!~"):
		return token{kind: tokenOperator, text: "!~"}, 2, nil
	}
	return lexOne(text, pos)
}

func isNameByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// lexNumber reads an integer and determines its C type.
func lexNumber(text string, pos int) (t token, n int, err error) {
	for n < len(text) && isNameByte(text[n]) {
		n++
	}
	digits := strings.TrimRight(text[:n], "uUlL")
	suffix := strings.ToLower(text[len(digits):n])
	v, err := strconv.ParseUint(digits, 0, 64)
	if err != nil {
		return t, 0, fail(pos, "%.20q is no number", text[:n])
	}
	t = token{kind: tokenNumber, number: v, typ: Int}
	unsigned := strings.Contains(suffix, "u")
	decimal := digits[0] != '0'
	switch {
	case strings.Contains(suffix, "l") || v > 1<<32-1 || v > 1<<31-1 && decimal && !unsigned:
		t.typ = Long
		t.typ.Signed = !unsigned && v <= 1<<63-1
	case unsigned || v > 1<<31-1:
		t.typ.Signed = false
	}
	return t, n, nil
}

// lexQuoted reads a string or character constant at the start of text. n includes both quotes.
func lexQuoted(text string, quote byte) (content string, n int, ok bool) {
	for n = 1; n < len(text); n++ {
		switch text[n] {
		case quote:
			return Unescape(text[1:n]), n + 1, true
		case '\\':
			n++
		}
	}
	return "", 0, false
}

// Unescape resolves the escapes of a C string. A backslash before any other character is kept.
func Unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case '0':
			b.WriteByte(0)
		case '"', '\'', '\\', '?':
			b.WriteByte(c)
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String()
}
