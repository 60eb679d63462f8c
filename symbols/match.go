package symbols

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/text/match"
)

// ErrPattern is wrapped by Match's error if the pattern is malformed.
var ErrPattern = errors.New("malformed pattern")

// Match returns the functions whose raw or source name matches the whole pattern, one per
// offset, sorted by offset. * matches any text, ? one character, [a-z] and [^a-z] one character
// of a set, and \ quotes the next character. Source names have parameters only if the pattern
// contains a parenthesis. The result type of a template function is tried, too, if the pattern
// has a space.
//
// Only Defined and Indirect functions are returned. Pieces (.cold, .part.0) are left out,
// except in Go programs, where ordinary names look the same.
func (f *File) Match(pattern string) ([]Function, error) {
	g, err := newGlob(pattern, f.IsGo())
	if err != nil {
		return nil, err
	}
	all, err := f.Functions()
	var found []Function
	for i := range all {
		if (all[i].Kind == Defined || all[i].Kind == Indirect) && g.matches(all[i].Name) {
			found = append(found, all[i])
		}
	}
	return onePerPlace(found), err
}

// glob is a pattern of function names.
type glob struct {
	match.Glob
	words  []string // words that a matching mangled name contains
	params bool
	result bool // whether the pattern may start with the result type
	inGo   bool // whether the file may contain Go functions
}

const wildcards = match.Special + `]\`

// newGlob parses the pattern.
func newGlob(pattern string, inGo bool) (*glob, error) {
	parsed, err := match.ParseGlob(pattern)
	if err != nil {
		return nil, fmt.Errorf("%w: %q: %w", ErrPattern, pattern, err)
	}
	g := &glob{Glob: parsed, inGo: inGo, result: strings.Contains(pattern, " ")}
	if !strings.Contains(pattern, "[") {
		before, _, params := strings.Cut(pattern, "(")
		g.params = params
		g.words = mangledWords(before, wildcards)
	}
	return g, nil
}

func (g *glob) matches(raw string) bool {
	base, piece := cutClone(raw)
	if piece && !g.inGo {
		return false
	}
	if g.Match(raw) {
		return true
	}
	if !isMangled(base) {
		return false
	}
	for _, w := range g.words {
		if !strings.Contains(base, w) {
			return false
		}
	}
	if g.params {
		return g.Match(DemangleParams(base))
	}
	return g.Match(Demangle(base)) || g.result && g.Match(withResult(base))
}

// Meant returns a function that reports whether Find (or, for a pattern, Match) would accept a
// raw function name. Pieces of functions are accepted if their raw name matches.
func Meant(name string) (func(raw string) bool, error) {
	if !match.IsGlob(name) {
		q := newQuery(name, true)
		return func(raw string) bool { return raw == name || q.matches(raw) }, nil
	}
	q := newQuery(name, false)
	g, err := newGlob(name, true)
	if err != nil {
		return nil, err
	}
	return func(raw string) bool { return raw == name || q.matches(raw) || g.matches(raw) }, nil
}
