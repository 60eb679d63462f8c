// Package names finds names: those that match a pattern, and those nearest to a mistyped
// name.
package names

import (
	"strings"
	"unicode/utf8"
)

// Special are the characters that may make a pattern of a name, without the
// backslash, which only takes their meaning away.
const Special = "*?["

// IsGlob reports whether text is a pattern and not just a name.
func IsGlob(text string) bool { return strings.ContainsAny(text, Special) }

// Glob is a pattern of whole names: * matches any text, ? one character, [a-z]
// one of a set, [!a-z] and [^a-z] one outside of it, and \ takes the meaning of
// what follows. A slash is a character like any other: Go's names have them.
type Glob struct {
	text   string
	prefix string // text before the first wildcard
	suffix string // text behind the last one
}

// GlobError says what is wrong with a pattern.
type GlobError struct {
	Pos    int    // byte of the pattern
	Reason string // such as "this bracket is not closed"
}

// Error returns the reason.
func (e *GlobError) Error() string { return e.Reason }

// ParseGlob prepares a pattern. The error is a *GlobError.
func ParseGlob(text string) (Glob, error) {
	const special = Special + `]\`
	g := Glob{text: text, prefix: text}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			if i++; i == len(text) {
				return g, &GlobError{i - 1, "nothing follows this backslash"}
			}
		case '[':
			_, n := set(text[i:], 0)
			if n == 0 {
				return g, &GlobError{i, "this bracket is not closed"}
			}
			i += n - 1
		}
	}
	if i := strings.IndexAny(text, special); i >= 0 {
		g.prefix = text[:i]
		g.suffix = text[strings.LastIndexAny(text, special)+1:]
	}
	return g, nil
}

// Match reports whether the pattern matches all of name. It does not allocate.
func (g *Glob) Match(name string) bool { return matchWhole(g, name) }

// MatchBytes is Match for a name in a buffer.
func (g *Glob) MatchBytes(name []byte) bool { return matchWhole(g, name) }

// matchWhole first compares the ends, which most names differ in.
func matchWhole[T string | []byte](g *Glob, name T) bool {
	return len(name) >= len(g.prefix) && string(name[:len(g.prefix)]) == g.prefix &&
		len(name) >= len(g.suffix) && string(name[len(name)-len(g.suffix):]) == g.suffix &&
		match(g.text[len(g.prefix):], name[len(g.prefix):])
}

// match goes back to the last star where the rest does not match.
func match[T string | []byte](pattern string, name T) bool {
	p, n := 0, 0
	starP, starN := -1, 0
	for n < len(name) || p < len(pattern) {
		if p < len(pattern) {
			switch c := pattern[p]; {
			case c == '*':
				starP, starN = p, n
				p++
				continue
			case n == len(name):
			case c == '?' || c == '[' || c == '\\':
				if size, length := matchSpecial(pattern[p:], name[n:]); length > 0 {
					p, n = p+size, n+length
					continue
				}
			case c == name[n]:
				p, n = p+1, n+1
				continue
			}
		}
		if starP < 0 || starN >= len(name) {
			return false
		}
		starN++
		p, n = starP+1, starN
	}
	return true
}

// matchSpecial matches the wildcard or backslash that a pattern begins with, and
// returns the bytes of it and of what it matches: length is 0 if it doesn't.
func matchSpecial[T string | []byte](pattern string, name T) (size, length int) {
	switch pattern[0] {
	case '?':
		_, length = first(name)
		return 1, length
	case '[':
		r, length := first(name)
		if ok, size := set(pattern, r); ok {
			return size, length
		}
	case '\\':
		if pattern[1] == name[0] {
			return 2, 1
		}
	}
	return 0, 0
}

// first is the character that a name begins with.
func first[T string | []byte](name T) (rune, int) {
	if name[0] < utf8.RuneSelf {
		return rune(name[0]), 1
	}
	return utf8.DecodeRuneInString(string(name[:min(len(name), utf8.UTFMax)]))
}

// set reports whether r is in the set that text begins with, and how long that
// is in the text: 0 if it is not closed.
func set(text string, r rune) (in bool, size int) {
	i := 1
	negated := i < len(text) && (text[i] == '!' || text[i] == '^')
	if negated {
		i++
	}
	for start := i; i < len(text) && (i == start || text[i] != ']'); {
		low, n := member(text[i:])
		i += n
		high := low
		if i+1 < len(text) && text[i] == '-' && text[i+1] != ']' {
			high, n = member(text[i+1:])
			i += 1 + n
		}
		in = in || low <= r && r <= high
	}
	if i >= len(text) {
		return false, 0
	}
	return in != negated, i + 1
}

// member is a character of a set, which may have a backslash before it.
func member(text string) (rune, int) {
	if text[0] == '\\' && len(text) > 1 {
		r, n := utf8.DecodeRuneInString(text[1:])
		return r, 1 + n
	}
	return utf8.DecodeRuneInString(text)
}
