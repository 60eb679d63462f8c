package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// branch is a node of the call tree with its children.
type branch struct {
	name     string
	process  bool
	self     uint64
	total    uint64
	children []*branch
}

// branches are the children of the root of the tree of a metric, the largest first.
func (v *view) branches() []*branch {
	t := grow(v.Profile, v.opts.Inlines)
	totals, _ := t.totals(v.metric)
	root := &branch{}
	path := []*branch{root} // from the root to the last node
	for i, n := range t.nodes {
		l := &t.levels[n.level]
		b := &branch{name: shortName(l.name), process: l.kind == process, self: t.self[v.metric][i], total: totals[i]}
		path = path[:n.depth]
		parent := path[len(path)-1]
		parent.children = append(parent.children, b)
		path = append(path, b)
	}
	root.sort()
	return root.children
}

// shortName is a name without the path of a Go package: "ssa.Compile" for
// "cmd/compile/internal/ssa.Compile".
func shortName(name string) string {
	path := name
	if i := strings.IndexAny(name, "([<{ "); i >= 0 {
		path = name[:i]
	}
	if i := strings.LastIndexByte(path, '/'); i > 0 && i+1 < len(path) {
		return name[i+1:]
	}
	return name
}

// sort puts the largest children first.
func (b *branch) sort() {
	slices.SortStableFunc(b.children, func(a, b *branch) int { return cmp.Compare(b.total, a.total) })
	for _, child := range b.children {
		child.sort()
	}
}

// prune takes out what holds less than least, and returns how many lines are left.
func prune(branches []*branch, least float64) ([]*branch, int) {
	var kept []*branch
	lines := 0
	for _, b := range branches {
		if float64(b.total) < least || b.total == 0 {
			continue
		}
		pruned := *b
		n := 0
		pruned.children, n = prune(b.children, least)
		if len(pruned.children) == 1 {
			n-- // most chains don't branch and are folded
		}
		kept, lines = append(kept, &pruned), lines+1+n
	}
	return kept, lines
}

// leastShares are the shares, in percent, below which the tree leaves out calls: the
// first of them that makes it short enough.
var leastShares = []float64{0.5, 1, 2, 3, 5, 10, 20}

// writeTree writes the call tree with shares: calls within calls, the largest first. A
// chain that does not branch takes one line, or a few.
func (v *view) writeTree() {
	branches := v.branches()
	total := v.totals[v.metric]
	if total == 0 {
		return
	}
	least := 0.0
	for _, share := range leastShares {
		kept, lines := prune(branches, share*float64(total)/100)
		if least = share; v.opts.Top == 0 || lines <= 2*v.opts.Top || share == leastShares[len(leastShares)-1] {
			branches = kept
			break
		}
	}
	fmt.Fprintf(&v.out, "\n%s\n", v.style(bold, " SHARE      TOTAL  CALL TREE"))
	for _, b := range branches {
		v.writeBranch(b, "", "")
	}
	fmt.Fprintln(&v.out, v.style(faint, fmt.Sprintf("Calls below %g%% are not shown; --out FILE.html has them all.", least)))
}

// writeBranch writes a branch and what is below it. Its first line begins with first,
// all others with more.
func (v *view) writeBranch(b *branch, first, more string) {
	const shares = 19 // columns before the tree
	names, last := chain(b)
	room := v.left(shares + twwidth.Width(more))
	self := ""
	if len(last.children) > 0 && v.heat(last.self) != regular {
		self = " [self " + tenths(last.self, v.totals[v.metric]) + "]"
	}
	below := more + "  "
	if len(last.children) > 0 {
		below = more + "│ "
	}
	for i, line := range foldChain(names, self, room) {
		if i > 0 {
			fmt.Fprintln(&v.out, strings.Repeat(" ", shares)+v.style(faint, below)+line)
			continue
		}
		share, count := tenths(b.total, v.totals[v.metric]), quantity(b.total, &v.Metrics[v.metric])
		fmt.Fprintln(&v.out, padLeft(share, 6, v.style(v.heat(b.total), share))+" "+padLeft(count, 10, count)+"  "+v.style(faint, first)+v.emphasize(b, line))
	}
	if room > 0 && room <= leastName {
		more = strings.TrimSuffix(more, "   ") // so deep that there is no more room to the right
	}
	for i, child := range last.children {
		if i < len(last.children)-1 {
			v.writeBranch(child, more+"├─ ", more+"│  ")
		} else {
			v.writeBranch(child, more+"└─ ", more+"   ")
		}
	}
}

// padLeft puts text, in its style, at the right of a column.
func padLeft(text string, width int, styled string) string {
	return strings.Repeat(" ", max(0, width-twwidth.Width(text))) + styled
}

// emphasize makes the name of a process at the beginning of a line stand out.
func (v *view) emphasize(b *branch, line string) string {
	if !b.process {
		return line
	}
	name, rest, more := strings.Cut(line, arrow)
	if !more {
		return v.style(bold, line)
	}
	return v.style(bold, name) + arrow + rest
}

// arrow stands between a caller and what it calls.
const arrow = " → "

// chain is a branch and the calls below it that hold nearly all of it, and the last of
// them.
func chain(b *branch) (names []string, last *branch) {
	const nearlyAll = 0.95
	names, last = []string{b.name}, b
	for len(last.children) == 1 && float64(last.children[0].total) >= nearlyAll*float64(b.total) {
		last = last.children[0]
		names = append(names, last.name)
	}
	return repeated(names), last
}

// repeated has names that follow themselves, as in a recursion, once: "walk ×3".
func repeated(names []string) (kept []string) {
	for i := 0; i < len(names); {
		n := 1
		for i+n < len(names) && names[i+n] == names[i] {
			n++
		}
		name := names[i]
		if n > 1 {
			name = fmt.Sprintf("%s ×%d", name, n)
		}
		kept = append(kept, name)
		i += n
	}
	return kept
}

// foldChain writes a chain of calls in at most three lines of at most width columns
// (0: one line). Calls in its middle give way; their number is there instead.
func foldChain(names []string, end string, width int) []string {
	const most = 3
	if width == 0 {
		return []string{strings.Join(names, arrow) + end}
	}
	width -= 2 // the lines that follow are further to the right
	for out := 0; ; out++ {
		kept := names
		if out > 0 {
			head := min(2, (len(names)-out)/2)
			kept = slices.Concat(names[:head], []string{fmt.Sprintf("… %d more …", out)}, names[head+out:])
		}
		lines := wrapChain(kept, end, width)
		if len(lines) <= most || out >= len(names)-2 {
			return lines
		}
	}
}

// wrapChain breaks a chain after its arrows.
func wrapChain(names []string, end string, width int) []string {
	var lines []string
	line := ""
	for i, name := range names {
		tail := arrow
		if i == len(names)-1 {
			tail = end
		}
		name = shorten(name, max(width-twwidth.Width(tail), leastName/2))
		if line != "" && twwidth.Width(line)+twwidth.Width(name)+twwidth.Width(strings.TrimRight(tail, " ")) > width {
			lines = append(lines, strings.TrimRight(line, " "))
			line = ""
		}
		line += name + tail
	}
	return append(lines, line)
}
