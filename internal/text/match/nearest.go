package match

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest collects the few names that are most similar to a given one, for "did you mean"
// messages.
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

// NewNearest returns a collector of at most maxNames names whose cost does not exceed limit.
// Names of equal cost are ordered by compare or, if it is nil, in the order in which they are
// added.
func NewNearest(name string, limit, maxNames int, compare func(a, b string) int) *Nearest {
	return &Nearest{name: name, limit: limit, most: maxNames, compare: compare}
}

// ShortestFirst orders names by length, then alphabetically.
func ShortestFirst(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// Add adds a name. Its cost is its edit distance.
func (n *Nearest) Add(name string) {
	if len(n.row) <= len(name) {
		n.row = make([]int, 2*len(name)+1)
	}
	n.AddCost(name, Distance(n.name, name, n.limit, n.row))
}

// AddCost adds a name with a cost chosen by the caller. The cost must be the same each time the
// name is added. Nearest keeps a copy of the name.
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

// Names returns the collected names, the most similar first.
func (n *Nearest) Names() []string {
	var names []string
	for _, f := range n.found {
		names = append(names, f.name)
	}
	return names
}

// Distance returns the edit distance of a and b (Levenshtein): the number of bytes to change,
// insert or delete. If it is above limit, some number above limit is returned. row is working
// memory. If it has fewer than len(b)+1 elements, Distance allocates its own.
func Distance(a, b string, limit int, row []int) int {
	if difference := len(a) - len(b); max(difference, -difference) > limit {
		return limit + 1
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
		if least > limit {
			return limit + 1
		}
	}
	return row[len(b)]
}
