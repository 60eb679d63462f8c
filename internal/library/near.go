package library

import (
	"cmp"
	"slices"

	"github.com/ringtap/ringtap/internal/edits"
)

const (
	maxNear     = 3
	maxNearName = 64 // bytes; longer names are not compared
)

// near returns the names of commands and libraries that a name may have been
// meant to be, nearest first.
func (v *view) near(name string) []string {
	if len(name) > maxNearName {
		return nil
	}
	limit := min(2, len(name)/3) // edits; a short name is near to everything
	distances := map[string]int{}
	var row [maxNearName + 1]int
	consider := func(other string) {
		if _, known := distances[other]; known || len(other) > maxNearName {
			return
		}
		if difference := len(name) - len(other); max(difference, -difference) > limit {
			return
		}
		if d := edits.Distance(name, other, row[:]); d <= limit {
			distances[other] = d
		}
	}
	for _, dir := range v.commandDirs() {
		for _, command := range v.names(dir, maxDirNames) {
			consider(command)
		}
	}
	for _, e := range v.cache() {
		consider(e.Soname)
		if stem, ok := cutEnding(e.Soname); ok {
			consider(stem)
		}
	}
	names := make([]string, 0, len(distances))
	for other := range distances {
		names = append(names, other)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(
			cmp.Compare(distances[a], distances[b]),
			cmp.Compare(alike(b, name), alike(a, name)),
			cmp.Compare(a, b))
	})
	names = names[:min(len(names), maxNear)]
	for i, other := range names {
		names[i] = shown(other)
	}
	return names
}

// alike is how many bytes two names begin with in common.
func alike(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
