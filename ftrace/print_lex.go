package ftrace

import (
	"fmt"
	"strconv"
	"strings"
)

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenNumber
	tokenChar
	tokenString
	tokenOperator
)

// token is one token of C. text is a name, an operator, or a string's content.
type token struct {
	kind   tokenKind
	text   string
	number uint64 // of a number or a character
	typ    ctype
}

// operators of more than one character, longest first.
var operators = [...]string{"->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"}

// lex splits the arguments of a print format in tokens; the last is tokenEnd.
func lex(text string) ([]token, error) {
	var tokens []token
	for {
		text = strings.TrimLeft(text, " \t\r\n")
		if text == "" {
			return append(tokens, token{kind: tokenEnd}), nil
		}
		t, n, err := lexOne(text)
		if err != nil {
			return nil, err
		}
		if last := len(tokens) - 1; t.kind == tokenString && last >= 0 && tokens[last].kind == tokenString {
			tokens[last].text += t.text
		} else {
			tokens = append(tokens, t)
		}
		text = text[n:]
	}
}

// lexOne reads the token that text starts with and its length.
func lexOne(text string) (t token, n int, err error) {
	c := text[0]
	switch {
	case '0' <= c && c <= '9':
		return lexNumber(text)
	case isIdentByte(c):
		for n < len(text) && isIdentByte(text[n]) {
			n++
		}
		return token{kind: tokenName, text: text[:n]}, n, nil
	case c == '"':
		content, n, ok := lexQuoted(text, '"')
		if !ok {
			return t, 0, fmt.Errorf("a string does not end: %.20q", text)
		}
		return token{kind: tokenString, text: content}, n, nil
	case c == '\'':
		content, n, ok := lexQuoted(text, '\'')
		if !ok || len(content) != 1 {
			return t, 0, fmt.Errorf("no character: %.20q", text)
		}
		return token{kind: tokenChar, number: uint64(content[0]), typ: typeInt}, n, nil
	}
	for _, op := range operators {
		if strings.HasPrefix(text, op) {
			return token{kind: tokenOperator, text: op}, len(op), nil
		}
	}
	return token{kind: tokenOperator, text: text[:1]}, 1, nil
}

// lexNumber reads an integer and gives it the type that C does.
func lexNumber(text string) (t token, n int, err error) {
	for n < len(text) && isIdentByte(text[n]) {
		n++
	}
	digits := strings.TrimRight(text[:n], "uUlL")
	suffix := strings.ToLower(text[len(digits):n])
	v, err := strconv.ParseUint(digits, 0, 64)
	if err != nil {
		return t, 0, fmt.Errorf("no number: %.20q", text[:n])
	}
	t = token{kind: tokenNumber, number: v, typ: typeInt}
	unsigned := strings.Contains(suffix, "u")
	decimal := digits[0] != '0'
	switch {
	case strings.Contains(suffix, "l") || v > 1<<32-1 || v > 1<<31-1 && decimal && !unsigned:
		t.typ = typeLong
		t.typ.signed = !unsigned && v <= 1<<63-1
	case unsigned || v > 1<<31-1:
		t.typ.signed = false
	}
	return t, n, nil
}

// lexQuoted reads a string or character constant, with the quote at its start.
func lexQuoted(text string, quote byte) (content string, n int, ok bool) {
	for n = 1; n < len(text); n++ {
		switch text[n] {
		case quote:
			return unescape(text[1:n]), n + 1, true
		case '\\':
			n++
		}
	}
	return "", 0, false
}

// unescape undoes the escapes that C strings have. A backslash before anything
// else stands for itself.
func unescape(s string) string {
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
