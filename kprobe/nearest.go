package kprobe

import (
	"strings"

	"github.com/ringtap/ringtap/internal/text/match"
)

// nearest collects kernel names that are similar to a name.
type nearest struct {
	name  string
	limit int // maximum edit distance
	found *match.Nearest
}

func newNearest(name string) *nearest {
	const most = 5
	limit := min(1+len(name)/6, 3)
	return &nearest{name, limit, match.NewNearest(name, limit, most, match.ShortestFirst)}
}

// add adds a name that differs in a few letters, or that starts or ends with the given one.
func (n *nearest) add(name string) {
	more := len(name) - len(n.name)
	switch {
	case isCold(name) || strings.HasPrefix(name, "__pfx_"):
	case -n.limit <= more && more <= n.limit:
		n.found.Add(name)
	case len(n.name) >= 4 && (strings.HasPrefix(name, n.name) || strings.HasSuffix(name, n.name)):
		n.found.AddCost(name, n.limit)
	}
}
