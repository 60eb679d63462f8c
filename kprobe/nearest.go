package kprobe

import (
	"strings"

	"github.com/ringtap/ringtap/internal/names"
)

// nearest collects names of the kernel's that resemble one.
type nearest struct {
	name  string
	limit int // of changes to a name that still resembles it
	found *names.Nearest
}

func newNearest(name string) *nearest {
	const most = 5
	limit := min(1+len(name)/6, 3)
	return &nearest{name, limit, names.NewNearest(name, limit, most, names.ShortestFirst)}
}

// add adds a name that differs in a few letters, or continues what was typed.
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
