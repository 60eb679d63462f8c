package names

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest collects the few names that resemble one best, for messages that
// offer what may have been meant.
type Nearest struct {
	name    string
	limit   int
	most    int
	compare func(a, b string) int
	found   []nearName // sorted, at most most
	row     []int
}

type nearName struct {
	name string
	cost int
}

// NewNearest returns a collector of at most most names whose cost does not
// exceed limit. Names of one cost are in the order of compare, or, if it is nil,
// in the order in which they are added.
func NewNearest(name string, limit, most int, compare func(a, b string) int) *Nearest {
	return &Nearest{name: name, limit: limit, most: most, compare: compare}
}

// ShortestFirst compares names by their lengths, then their letters.
func ShortestFirst(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// Add adds a name at the cost of the edits that it differs by.
func (n *Nearest) Add(name string) {
	if len(n.row) <= len(name) {
		n.row = make([]int, 2*len(name)+1)
	}
	n.AddCost(name, Distance(n.name, name, n.limit, n.row))
}

// AddCost adds a name at a cost of the caller's, which is the same each time that
// the name is added. It keeps a copy.
func (n *Nearest) AddCost(name string, cost int) {
	if cost > n.limit {
		return
	}
	i := 0
	for ; i < len(n.found); i++ {
		f := &n.found[i]
		if f.name == name {
			return
		}
		if order := cmp.Compare(f.cost, cost); order > 0 || order == 0 && n.compare != nil && n.compare(f.name, name) > 0 {
			break
		}
	}
	if i == n.most {
		return
	}
	n.found = slices.Insert(n.found, i, nearName{strings.Clone(name), cost})
	if len(n.found) >= n.most {
		n.found = n.found[:n.most]
		n.limit = n.found[n.most-1].cost
	}
}

// Names returns what was collected, nearest first.
func (n *Nearest) Names() []string {
	var names []string
	for _, f := range n.found {
		names = append(names, f.name)
	}
	return names
}

// Distance is the number of bytes to change, insert or delete to make b of a
// (Levenshtein), or some number above most if it is above most. It works in row,
// which is made if it has not len(b)+1 places.
func Distance(a, b string, most int, row []int) int {
	if difference := len(a) - len(b); max(difference, -difference) > most {
		return most + 1
	}
	if len(row) <= len(b) {
		row = make([]int, len(b)+1)
	}
	row = row[:len(b)+1]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		least := row[0]
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
			least = min(least, row[j+1])
		}
		if least > most {
			return most + 1
		}
	}
	return row[len(b)]
}
