package kprobe

import (
	"bytes"
	"strings"
)

// glob is a pattern in the shell's way, over whole names: * any characters, ? one,
// [a-z] one of these and [!a-z] one of the others.
type glob struct {
	text   string
	prefix string // what text begins with and stands for itself
	suffix string // what it ends with
}

// isPattern tells whether a name is one.
func isPattern(name string) bool { return strings.ContainsAny(name, "*?[") }

// badGlob is where a bracket is that is not closed, or -1.
func badGlob(text string) int {
	for i := 0; i < len(text); i++ {
		if text[i] != '[' {
			continue
		}
		_, n := class(text[i:], 0)
		if n == 0 {
			return i
		}
		i += n - 1
	}
	return -1
}

func newGlob(text string) glob {
	const special = "*?["
	g := glob{text: text, prefix: text}
	if i := strings.IndexAny(text, special); i >= 0 {
		g.prefix = text[:i]
		g.suffix = text[strings.LastIndexAny(text, "*?]")+1:]
	}
	return g
}

// match tells whether the pattern stands for name.
func (g *glob) match(name []byte) bool {
	if len(g.prefix) == len(g.text) {
		return string(name) == g.text
	}
	if len(name) < len(g.prefix) || string(name[:len(g.prefix)]) != g.prefix || !bytes.HasSuffix(name, []byte(g.suffix)) {
		return false
	}
	return matchGlob(g.text[len(g.prefix):], name[len(g.prefix):])
}

// matchGlob goes back to the last star where the rest does not match.
func matchGlob(pattern string, name []byte) bool {
	p, n := 0, 0
	starP, starN := -1, 0
	for n < len(name) || p < len(pattern) {
		if p < len(pattern) {
			switch c := pattern[p]; {
			case c == '*':
				starP, starN = p, n
				p++
				continue
			case n < len(name) && c == '?':
				p, n = p+1, n+1
				continue
			case n < len(name) && c == '[':
				if ok, size := class(pattern[p:], name[n]); ok {
					p, n = p+size, n+1
					continue
				}
			case n < len(name) && c == name[n]:
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

// class tells whether c is in the class that text begins with, and how long that
// is in the text: 0 if it is not closed.
func class(text string, c byte) (in bool, size int) {
	i := 1
	negated := i < len(text) && (text[i] == '!' || text[i] == '^')
	if negated {
		i++
	}
	for first := true; i < len(text) && (first || text[i] != ']'); first = false {
		low, high := text[i], text[i]
		if i+2 < len(text) && text[i+1] == '-' && text[i+2] != ']' {
			high = text[i+2]
			i += 2
		}
		in = in || low <= c && c <= high
		i++
	}
	if i >= len(text) {
		return false, 0
	}
	return in != negated, i + 1
}
