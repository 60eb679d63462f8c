package pytable

import (
	"cmp"
	"slices"
	"strings"
)

// names chooses a name for each function.
func (r *reader) names() map[uint64]string {
	slices.SortStableFunc(r.facts, func(x, y fact) int { return cmp.Compare(x.addr, y.addr) })
	names := make(map[uint64]string)
	for of := r.facts; len(of) > 0; {
		n := 1
		for n < len(of) && of[n].addr == of[0].addr {
			n++
		}
		names[of[0].addr] = r.choose(of[:n])
		of = of[n:]
	}
	return names
}

// shown is how many names of one function to show.
const shown = 2

// choose returns the name of a function. facts are in the order of the tables.
func (r *reader) choose(facts []fact) string {
	if len(facts) == 1 {
		return facts[0].String()
	}
	k := known{map[string]bool{}, map[slot]bool{}}
	for _, f := range facts {
		if f.method {
			k.methods[f.owner] = true
		} else if f.typ != 0 {
			k.slots[slot{f.typ, f.field}] = true
		}
	}
	var names []string
	for _, f := range facts {
		name := f.String()
		if slices.Contains(names, name) || r.follows(&f, &k) {
			continue
		}
		if len(names) == shown {
			return strings.Join(names, "|") + "|*"
		}
		names = append(names, name)
	}
	if len(names) == 0 { // the types derive from each other
		return facts[0].String() + "|*"
	}
	return strings.Join(names, "|")
}

// known is what the tables say about one function.
type known struct {
	methods map[string]bool // owners that have it as a method
	slots   map[slot]bool
}

// slot is a field of a type.
type slot struct {
	typ   uint64
	field string
}

// follows reports whether a fact adds nothing: the type inherits the function from a base type,
// or the function is also a method of the type.
func (r *reader) follows(f *fact, k *known) bool {
	if f.method {
		return false
	}
	if k.methods[f.owner] {
		return true
	}
	typ := f.typ
	for range maxBases {
		if typ = r.bases[typ]; typ == 0 {
			return false
		}
		if k.slots[slot{typ, f.field}] {
			return true
		}
	}
	return false
}
