package report

import (
	"cmp"
	"slices"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/profile"
)

// tree is the rows of a profile merged by equal beginnings: what a flame graph
// draws. Its root stands for everything and is not in nodes.
type tree struct {
	levels []level    // distinct, sorted by name
	files  []string   // by level: source file, where lines are known; escaped
	nodes  []node     // each before its children, siblings sorted by name
	self   [][]uint64 // by metric, by node: counts of the stacks that end there
	depth  int        // of the deepest node; a child of the root has 1
}

// node is a box of a flame graph.
type node struct {
	level int32 // index into tree.levels
	depth int32 // 1 for children of the root
}

// grow makes the tree of p. Equal beginnings are found by sorting the stacks,
// which also puts the nodes in the order they are drawn in.
func grow(p *profile.Profile, inlines bool) *tree {
	type stack struct {
		path   []int // of levels, root first
		values []uint64
	}
	l := newLeveler(p, inlines)
	ids := map[level]int{}
	t := &tree{self: make([][]uint64, len(p.Metrics))}
	stacks := make([]stack, 0, len(p.Rows))
	var row []level
	for i := range p.Rows {
		r := &p.Rows[i]
		row = l.row(row[:0], r)
		path := make([]int, len(row))
		for n, level := range row {
			id, seen := ids[level]
			if !seen {
				id = len(t.levels)
				ids[level] = id
				t.levels = append(t.levels, level)
			}
			path[n] = id
		}
		stacks = append(stacks, stack{path, r.Values})
	}
	rank := t.sortLevels()
	for _, s := range stacks {
		for n := range s.path {
			s.path[n] = rank[s.path[n]]
		}
	}
	slices.SortFunc(stacks, func(a, b stack) int { return slices.Compare(a.path, b.path) })

	var last []int
	for _, s := range stacks {
		same := 0
		for same < len(s.path) && same < len(last) && s.path[same] == last[same] {
			same++
		}
		for n := same; n < len(s.path); n++ {
			t.nodes = append(t.nodes, node{int32(s.path[n]), int32(n + 1)})
			for m := range t.self {
				t.self[m] = append(t.self[m], 0)
			}
		}
		// A stack that is a beginning of another sorts before it, so the last
		// node is where this one ends.
		for m, v := range s.values {
			t.self[m][len(t.nodes)-1] += v
		}
		last = s.path
		t.depth = max(t.depth, len(last))
	}
	t.findFiles(p, inlines)
	return t
}

// sortLevels sorts the levels and returns the new index of each old one.
func (t *tree) sortLevels() []int {
	order := make([]int, len(t.levels))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &t.levels[i], &t.levels[j]
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.object, b.object), cmp.Compare(a.kind, b.kind))
	})
	rank, sorted := make([]int, len(order)), make([]level, len(order))
	for to, from := range order {
		rank[from], sorted[to] = to, t.levels[from]
	}
	t.levels = sorted
	return rank
}

// findFiles notes the source file of each level; the first frame's, if there
// are several.
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

// totals returns, for one metric, what each node and its children hold, and
// the sum of all.
func (t *tree) totals(metric int) (totals []uint64, sum uint64) {
	totals = make([]uint64, len(t.nodes))
	below := make([]uint64, t.depth+2) // by depth: children not yet claimed
	for i := len(t.nodes) - 1; i >= 0; i-- {
		n := &t.nodes[i]
		totals[i] = t.self[metric][i] + below[n.depth+1]
		below[n.depth+1] = 0
		below[n.depth] += totals[i]
	}
	return totals, below[1]
}
