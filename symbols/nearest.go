package symbols

import (
	"math"
	"strings"

	"github.com/ringtap/ringtap/internal/names"
)

// Bounds of Nearest, which is asked only after something was not found.
const (
	maxNearestName  = 256      // bytes; longer names resemble nothing
	maxNearestNames = 300_000  // names that are looked at
	maxNearestCells = 50 << 20 // of all tables of edit distances
)

// Nearest returns at most n source names of functions with code in this file
// that resemble name, the most similar first: names that differ in case only or
// in the path before them, then names with few letters changed, then names that
// hold this one. It does not look at more than some 100,000 names.
func (f *File) Nearest(name string, n int) []string {
	all, _ := f.Functions()
	want := strings.ToLower(squeeze(name))
	if i := strings.IndexByte(want, '('); i > 0 {
		want = want[:i]
	}
	if want == "" || len(want) > maxNearestName {
		return nil
	}
	near := names.NewNearest(want, math.MaxInt, n, names.ShortestFirst)
	d := distance{left: maxNearestCells}
	lastWord := lastOf(want)
	for i := range all[:min(len(all), maxNearestNames)] {
		if all[i].Kind == Imported || all[i].Kind == PLT {
			continue
		}
		if isMangled(all[i].Name) && !d.hasWordLike(all[i].Name, lastWord) {
			continue // demangling takes longest
		}
		source := Demangle(all[i].Name)
		if cost, ok := d.cost(want, strings.ToLower(source)); ok {
			near.AddCost(source, cost)
		}
	}
	return near.Names()
}

// receivers turns the name of a method of Go into what people type.
var receivers = strings.NewReplacer("(*", "", ")", "")

// distance compares names, as long as it has work left.
type distance struct {
	left int // cells
	row  [maxNearestName + 1]int
}

// cost is how far a name is from the one that is wanted, and whether it
// resembles it at all.
func (d *distance) cost(want, name string) (int, bool) {
	plain := withoutArgs(name)
	if i := strings.IndexByte(plain, '['); i > 0 {
		plain = plain[:i] // types of a generic function of Go
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
	if wanted := lastOf(want); wanted != want { // the path may be the mistake
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

// lastOf returns a name without the path before it.
func lastOf(name string) string {
	if i := strings.LastIndexAny(name, ":."); i >= 0 && i+1 < len(name) {
		return name[i+1:]
	}
	return name
}

// hasWordLike reports whether one of the identifiers of a mangled name, which
// have their length before them, resembles word.
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

// edits is the number of letters to change, insert or delete, or more than most
// if it is more than that, or if no work is left.
func (d *distance) edits(x, y string, most int) int {
	if difference := len(x) - len(y); max(difference, -difference) > most {
		return most + 1
	}
	if d.left -= len(x) * len(y); d.left < 0 || len(y) > maxNearestName {
		return most + 1
	}
	return names.Distance(x, y, most, d.row[:])
}
