package match

import (
	"fmt"
	"strings"
)

// Search returns a function that reports whether a name matches the pattern or, as in perf
// list, contains its text. An empty pattern accepts all names. The error is a *GlobError.
func Search(pattern string) (func(name string) bool, error) {
	glob, err := ParseGlob(pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	return func(name string) bool { return glob.Match(name) || strings.Contains(name, pattern) }, nil
}

const maxNear = 3

// Near returns the candidates that differ from word by the fewest edits, at most three.
// It returns nil if no candidate is close enough to be what the user meant.
func Near(word string, candidates []string) []string {
	for edits := range 2 + len(word)/5 {
		near := NewNearest(word, edits, maxNear, nil)
		for _, candidate := range candidates {
			near.Add(candidate)
		}
		if best := near.Names(); best != nil {
			return best
		}
	}
	return nil
}

// DidYouMean returns the question "did you mean a, b or c?", or "" if there are no names.
func DidYouMean(near []string) string {
	if len(near) == 0 {
		return ""
	}
	text := near[len(near)-1]
	if rest := near[:len(near)-1]; len(rest) > 0 {
		text = strings.Join(rest, ", ") + " or " + text
	}
	return "did you mean " + text + "?"
}
