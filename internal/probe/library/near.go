package library

import (
	"cmp"

	"github.com/ringtap/ringtap/internal/text/match"
)

// near returns similar names of commands and libraries, nearest first.
func (v *view) near(name string) []string {
	const most = 3
	limit := min(2, len(name)/3) // number of edits; a short name is similar to everything
	found := match.NewNearest(name, limit, most, func(a, b string) int {
		return cmp.Or(cmp.Compare(alike(b, name), alike(a, name)), cmp.Compare(a, b))
	})
	for _, dir := range v.commandDirs() {
		for _, command := range v.names(dir, maxDirNames) {
			found.Add(command)
		}
	}
	for _, e := range v.cache() {
		found.Add(e.soname)
		if stem, ok := cutEnding(e.soname); ok {
			found.Add(stem)
		}
	}
	near := found.Names()
	for i, other := range near {
		near[i] = shown(other)
	}
	return near
}

// alike returns the length of the common prefix of two names, in bytes.
func alike(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
