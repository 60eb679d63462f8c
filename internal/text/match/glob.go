// Package match finds names that match a pattern, the names closest to a mistyped one, and the file
// names of system libraries.
package match

import (
	"strings"
	"unicode/utf8"
)

// Special are the characters that make a name a pattern. A backslash, which only quotes them,
// does not.
const Special = "*?["

// IsGlob reports whether text is a pattern, not just a name.
func IsGlob(text string) bool { return strings.ContainsAny(text, Special) }

// Glob is a pattern for whole names. * matches any text, ? one character, [a-z] one character
// of a set, [!a-z] and [^a-z] one outside of it, and \ quotes the next character. A slash is an
// ordinary character, since Go's names contain it.
type Glob struct {
	text   string
	prefix string // text before the first wildcard
	suffix string // text after the last wildcard
}

// GlobError says what is wrong with a pattern.
type GlobError struct {
	Pos    int    // byte offset in the pattern
	Reason string // such as "this bracket is not closed"
}

// Error returns the reason.
func (e *GlobError) Error() string { return e.Reason }

// ParseGlob parses a pattern. The error is a *GlobError.
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

// matchWhole compares prefix and suffix first: most names differ there.
func matchWhole[T string | []byte](g *Glob, name T) bool {
	return len(name) >= len(g.prefix) && string(name[:len(g.prefix)]) == g.prefix &&
		len(name) >= len(g.suffix) && string(name[len(name)-len(g.suffix):]) == g.suffix &&
		match(g.text[len(g.prefix):], name[len(g.prefix):])
}

// match returns to the last star if the rest does not match.
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

// matchSpecial matches the wildcard or backslash at the start of the pattern. It returns the
// bytes used of the pattern and of name; length is 0 if it does not match.
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

// first returns the first character of a name and its length.
func first[T string | []byte](name T) (rune, int) {
	if name[0] < utf8.RuneSelf {
		return rune(name[0]), 1
	}
	return utf8.DecodeRuneInString(string(name[:min(len(name), utf8.UTFMax)]))
}

// set reports whether r is in the set at the start of text. size is the length of the set in
// text, or 0 if the set is not closed.
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

// member returns the next character of a set, which may be escaped, and its length.
func member(text string) (rune, int) {
	if text[0] == '\\' && len(text) > 1 {
		r, n := utf8.DecodeRuneInString(text[1:])
		return r, 1 + n
	}
	return utf8.DecodeRuneInString(text)
}
