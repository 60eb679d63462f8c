package names

import (
	"fmt"
	"strings"
)

// Search returns what tells whether a name is wanted: it matches the pattern or,
// as in perf list, holds it as it stands. No pattern wants all. The error is a *GlobError.
func Search(pattern string) (func(name string) bool, error) {
	glob, err := ParseGlob(pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	return func(name string) bool { return glob.Match(name) || strings.Contains(name, pattern) }, nil
}

// mostNear is how many names Near returns.
const mostNear = 3

// Near returns the candidates that differ from word by the fewest edits, a few of them,
// joined by "or"; "" if none is near enough to be what was meant.
func Near(word string, candidates []string) string {
	for edits := range len(word)/2 + 1 {
		near := NewNearest(word, edits, mostNear, nil)
		for _, candidate := range candidates {
			near.Add(candidate)
		}
		if best := near.Names(); best != nil {
			return strings.Join(best, " or ")
		}
	}
	return ""
}
