package symbols

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/names"
)

// ErrPattern is wrapped by the error of Match for a pattern that is malformed.
var ErrPattern = errors.New("malformed pattern")

// Match returns the functions of which a name matches the whole pattern, one for
// each place, sorted by offset: * stands for any text, ? for one character, [a-z]
// and [^a-z] for one of a set, and \ takes the meaning of what follows. Raw and
// source names are looked at (without parameters, unless the pattern has a
// parenthesis; also with the result of a template's function if it has a blank). Only Defined and Indirect functions are returned, and no
// pieces (.cold, .part.0), except from Go programs, whose own names look the same.
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
	names.Glob
	words  []string // that the mangled name of a match holds
	params bool
	result bool // whether it may begin with the type of the result
	inGo   bool // whether functions may be Go's
}

const wildcards = names.Special + `]\`

// newGlob takes the pattern apart.
func newGlob(pattern string, inGo bool) (*glob, error) {
	parsed, err := names.ParseGlob(pattern)
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

// Meant returns what tells whether the raw name of a function, or of a piece of one, is one that
// Find takes for a name, or Match for a pattern.
func Meant(name string) (func(raw string) bool, error) {
	if !names.IsGlob(name) {
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
