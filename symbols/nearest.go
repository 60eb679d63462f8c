package symbols

import (
	"math"
	"strings"

	"github.com/ringtap/ringtap/internal/text/match"
)

// Limits of Nearest, which is only called after a search found nothing.
const (
	maxNearestName  = 256      // bytes; no suggestions for longer names
	maxNearestNames = 300_000  // names to compare
	maxNearestCells = 50 << 20 // total size of the edit-distance tables
)

// Nearest returns at most n source names of functions in this file that resemble name, the most
// similar first. The order is: names that differ only in case or in their path, names with few
// edits, names that contain this one. It looks at no more than 300,000 names.
func (f *File) Nearest(name string, n int) []string {
	all, _ := f.Functions()
	want := strings.ToLower(squeeze(name))
	if i := strings.IndexByte(want, '('); i > 0 {
		want = want[:i]
	}
	if want == "" || len(want) > maxNearestName {
		return nil
	}
	near := match.NewNearest(want, math.MaxInt, n, match.ShortestFirst)
	d := distance{left: maxNearestCells}
	lastWord := lastOf(want)
	for i := range all[:min(len(all), maxNearestNames)] {
		if all[i].Kind == Imported || all[i].Kind == PLT {
			continue
		}
		if isMangled(all[i].Name) && !d.hasWordLike(all[i].Name, lastWord) {
			continue // demangling is the slowest part
		}
		source := Demangle(all[i].Name)
		if cost, ok := d.cost(want, strings.ToLower(source)); ok {
			near.AddCost(source, cost)
		}
	}
	return near.Names()
}

// receivers turns the name of a Go method into the form that people type.
var receivers = strings.NewReplacer("(*", "", ")", "")

// distance compares names until its work limit is used up.
type distance struct {
	left int // cells of edit-distance tables that it may still compute
	row  [maxNearestName + 1]int
}

// cost returns the distance of name from want, and whether they are similar at all.
func (d *distance) cost(want, name string) (int, bool) {
	plain := withoutArgs(name)
	if i := strings.IndexByte(plain, '['); i > 0 {
		plain = plain[:i] // type arguments of a generic Go function
	}
	plain = receivers.Replace(plain)
	last := lastOf(plain)
	switch {
	case plain == want:
		return 0, true
	case last == want:
		return 1, true
	}
	most := 1 + len(want)/4
	best := most + 1
	for _, text := range []string{plain, last} {
		best = min(best, 1+d.edits(want, text, most))
	}
	if wanted := lastOf(want); wanted != want { // the mistake may be in the path
		if difference := len(last) - len(wanted); max(difference, -difference) <= most/2 {
			best = min(best, 2+d.edits(wanted, last, most))
		}
	}
	if best <= most {
		return best, true
	}
	if len(want) >= 3 && strings.Contains(plain, want) {
		return most + 1 + len(plain) - len(want), true
	}
	return 0, false
}

// lastOf returns the last part of a qualified name.
func lastOf(name string) string {
	if i := strings.LastIndexAny(name, ":."); i >= 0 && i+1 < len(name) {
		return name[i+1:]
	}
	return name
}

// hasWordLike reports whether an identifier in a mangled name resembles word. Mangling writes
// the length before each identifier.
func (d *distance) hasWordLike(mangled, word string) bool {
	for i := 0; i < len(mangled); i++ {
		n := 0
		for ; i < len(mangled) && mangled[i] >= '0' && mangled[i] <= '9' && n < len(mangled); i++ {
			n = n*10 + int(mangled[i]-'0')
		}
		if n == 0 || n > len(mangled)-i {
			continue
		}
		identifier := strings.ToLower(mangled[i : i+n])
		most := 1 + len(word)/4
		if len(word) >= 3 && strings.Contains(identifier, word) || d.edits(word, identifier, most) <= most {
			return true
		}
	}
	return false
}

// edits returns the edit distance (letters changed, inserted or deleted). It returns more than
// limit if the distance is above limit or the work limit is used up.
func (d *distance) edits(x, y string, limit int) int {
	if difference := len(x) - len(y); max(difference, -difference) > limit {
		return limit + 1
	}
	if d.left -= len(x) * len(y); d.left < 0 || len(y) > maxNearestName {
		return limit + 1
	}
	return match.Distance(x, y, limit, d.row[:])
}
