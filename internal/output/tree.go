package output

import (
	"cmp"
	"slices"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// tree is the rows of a profile merged by equal prefixes, as a flame graph draws them. The root
// represents the total and is not in nodes.
type tree struct {
	levels []level    // distinct, sorted by name
	files  []string   // by level: source file if known; escaped
	nodes  []node     // parents before children, siblings sorted by name
	self   [][]uint64 // by metric, by node: counts of stacks that end there
	depth  int        // of the deepest node; children of the root have 1
}

// node is a box of a flame graph.
type node struct {
	level int32 // index into tree.levels
	depth int32 // 1 for children of the root
}

// grow returns the tree of p. It finds equal prefixes by sorting the stacks, which also puts the
// nodes in drawing order.
func grow(p *profile.Profile, inlines bool) *tree {
	type stack struct {
		path   []int32 // indexes of levels, root first
		values []uint64
	}
	l := newLeveler(p, inlines)
	t := &tree{self: make([][]uint64, len(p.Metrics))}
	stacks := make([]stack, 0, len(p.Rows))
	var paths arena
	for i := range p.Rows {
		r := &p.Rows[i]
		l.path = l.indexes(l.path[:0], r)
		stacks = append(stacks, stack{paths.copy(l.path), r.Values})
	}
	t.levels = l.all
	rank := t.sortLevels()
	for _, s := range stacks {
		for n := range s.path {
			s.path[n] = rank[s.path[n]]
		}
	}
	slices.SortFunc(stacks, func(a, b stack) int { return slices.Compare(a.path, b.path) })

	var last []int32
	for _, s := range stacks {
		same := 0
		for same < len(s.path) && same < len(last) && s.path[same] == last[same] {
			same++
		}
		for n := same; n < len(s.path); n++ {
			t.nodes = append(t.nodes, node{s.path[n], int32(n + 1)})
			for m := range t.self {
				t.self[m] = append(t.self[m], 0)
			}
		}
		// A stack that is a prefix of another one sorts before it, so this stack ends at the last
		// node.
		for m, v := range s.values {
			t.self[m][len(t.nodes)-1] += v
		}
		last = s.path
		t.depth = max(t.depth, len(last))
	}
	t.findFiles(p, inlines)
	return t
}

// arena holds paths in few large blocks.
type arena struct{ block []int32 }

// copy returns a copy of a path.
func (a *arena) copy(path []int32) []int32 {
	const blockLen = 1 << 16
	if cap(a.block)-len(a.block) < len(path) {
		a.block = make([]int32, 0, max(blockLen, len(path)))
	}
	begin := len(a.block)
	a.block = append(a.block, path...)
	return a.block[begin:len(a.block):len(a.block)]
}

// sortLevels sorts the levels and returns the new index of each old one.
func (t *tree) sortLevels() []int32 {
	order := make([]int32, len(t.levels))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(i, j int32) int {
		a, b := &t.levels[i], &t.levels[j]
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.object, b.object), cmp.Compare(a.kind, b.kind))
	})
	rank, sorted := make([]int32, len(order)), make([]level, len(order))
	for to, from := range order {
		rank[from], sorted[to] = int32(to), t.levels[from]
	}
	t.levels = sorted
	return rank
}

// findFiles records the source file of each level, from the first frame that has one.
func (t *tree) findFiles(p *profile.Profile, inlines bool) {
	files := map[level]string{}
	l := newLeveler(p, inlines)
	for i := range p.Frames {
		lines := p.Frames[i].Lines
		for n, level := range l.frame(i) {
			if line := len(lines) - 1 - n; line >= 0 && files[level] == "" {
				files[level] = escape.Text(lines[line].File)
			}
		}
	}
	t.files = make([]string, len(t.levels))
	for i, level := range t.levels {
		t.files[i] = files[level]
	}
}

// totals returns, for one metric, the total of each node including its children, and the sum of
// all.
func (t *tree) totals(metric int) (totals []uint64, sum uint64) {
	totals = make([]uint64, len(t.nodes))
	below := make([]uint64, t.depth+2) // by depth: sum of children whose parent has not come yet
	for i := len(t.nodes) - 1; i >= 0; i-- {
		n := &t.nodes[i]
		totals[i] = t.self[metric][i] + below[n.depth+1]
		below[n.depth+1] = 0
		below[n.depth] += totals[i]
	}
	return totals, below[1]
}
