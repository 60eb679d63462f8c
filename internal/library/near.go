package library

import (
	"cmp"

	"github.com/ringtap/ringtap/internal/names"
)

// near returns the names of commands and libraries that a name may have been
// meant to be, nearest first.
func (v *view) near(name string) []string {
	const most = 3
	limit := min(2, len(name)/3) // edits; a short name is near to everything
	found := names.NewNearest(name, limit, most, func(a, b string) int {
		return cmp.Or(cmp.Compare(alike(b, name), alike(a, name)), cmp.Compare(a, b))
	})
	for _, dir := range v.commandDirs() {
		for _, command := range v.names(dir, maxDirNames) {
			found.Add(command)
		}
	}
	for _, e := range v.cache() {
		found.Add(e.Soname)
		if stem, ok := cutEnding(e.Soname); ok {
			found.Add(stem)
		}
	}
	near := found.Names()
	for i, other := range near {
		near[i] = shown(other)
	}
	return near
}

// alike is how many bytes two names begin with in common.
func alike(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}
