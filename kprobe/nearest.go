package kprobe

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/edits"
)

// manyNear is how many names are offered at most.
const manyNear = 5

// nearest collects names that resemble one.
type nearest struct {
	name  string
	limit int // of changes to a name that still resembles it
	row   []int
	found []nearName
	seen  map[string]bool
}

type nearName struct {
	name     string
	distance int
}

func newNearest(name string) *nearest {
	return &nearest{name: name, limit: min(1+len(name)/6, 3), row: make([]int, 64), seen: map[string]bool{}}
}

// add offers a name: one that differs in a few letters, or continues what was
// typed.
func (n *nearest) add(name []byte) {
	distance := n.limit + 1
	if more := len(name) - len(n.name); -n.limit <= more && more <= n.limit {
		distance = edits.Distance(n.name, string(name), n.row)
	} else if len(n.name) >= 4 && (bytes.HasPrefix(name, []byte(n.name)) || bytes.HasSuffix(name, []byte(n.name))) && len(n.found) < 1000 {
		distance = n.limit
	}
	if distance > n.limit || n.seen[string(name)] || isCold(string(name)) || strings.HasPrefix(string(name), "__pfx_") {
		return
	}
	n.seen[string(name)] = true
	n.found = append(n.found, nearName{string(name), distance})
}

// best are the nearest names, best first.
func (n *nearest) best() []string {
	slices.SortStableFunc(n.found, func(a, b nearName) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(len(a.name), len(b.name)), cmp.Compare(a.name, b.name))
	})
	var names []string
	for _, f := range n.found[:min(len(n.found), manyNear)] {
		names = append(names, f.name)
	}
	return names
}
