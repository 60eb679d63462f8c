package output

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/ringtap/ringtap/internal/text/escape"
)

// call is a function in the call tree.
type call struct {
	name   string
	kernel bool
}

// branch is a node of the call tree with its children.
type branch struct {
	call
	process  bool
	self     uint64
	total    uint64
	children []*branch
}

// branches returns the children of the root of the metric's call tree, largest first.
func (v *view) branches() []*branch {
	t := grow(v.Profile, v.opts.Inlines)
	totals, _ := t.totals(v.metric)
	root := &branch{}
	path := []*branch{root} // from the root to the last node
	for i, n := range t.nodes {
		l := &t.levels[n.level]
		name := l.name
		if l.kind != process { // whose name may contain slashes, such as migration/0
			name = shortName(name)
		}
		b := &branch{call: call{name, l.kind == kernel}, process: l.kind == process, self: t.self[v.metric][i], total: totals[i]}
		path = path[:n.depth]
		parent := path[len(path)-1]
		parent.children = append(parent.children, b)
		path = append(path, b)
	}
	root.merge()
	return root.children
}

// merge merges children with the same name, such as functions of two versions of a file, and sorts
// them, largest first.
func (b *branch) merge() {
	named := make(map[call]*branch, len(b.children))
	var kept []*branch
	for _, child := range b.children {
		same := named[child.call]
		if same == nil {
			named[child.call] = child
			kept = append(kept, child)
			continue
		}
		same.self += child.self
		same.total += child.total
		same.children = append(same.children, child.children...)
	}
	slices.SortStableFunc(kept, func(a, b *branch) int { return cmp.Compare(b.total, a.total) })
	b.children = kept
	for _, child := range kept {
		child.merge()
	}
}

// shortName returns a name without the path of a Go package: "ssa.Compile" for
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

// prune returns the branches whose total is at least threshold, and their number of lines.
func prune(branches []*branch, threshold float64) ([]*branch, int) {
	var kept []*branch
	lines := 0
	for _, b := range branches {
		if float64(b.total) < threshold || b.total == 0 {
			continue
		}
		pruned := *b
		n := 0
		pruned.children, n = prune(b.children, threshold)
		if len(pruned.children) == 1 {
			n-- // chains without branches are folded
		}
		kept, lines = append(kept, &pruned), lines+1+n
	}
	return kept, lines
}

// leastShares are the candidates for the smallest share, in percent, that the tree shows. The first
// one that makes the tree short enough is used.
var leastShares = []float64{0.5, 1, 2, 3, 5, 7, 10, 15, 20, 30, 40, 50}

// writeTree writes the call tree with shares, largest calls first. A chain without branches takes
// one line or a few.
func (v *view) writeTree() {
	branches := v.branches()
	total := v.totals[v.metric]
	if total == 0 {
		return
	}
	footer := "Calls below %g%% are not shown; --out FILE.html has them all."
	if v.opts.Height > 0 {
		footer = "Calls below %g%% are not shown; a pipe (| less) has more, --out FILE.html all."
	}
	frame := treeFrame
	if v.joined() {
		frame++
		footer = fmt.Sprintf("Shares are of %s; --metric shows another column.\n", strings.ReplaceAll(escape.Text(v.Metrics[v.metric].Name), "%", "%%")) + footer
	}
	const fewest = 3
	room := v.lines(frame+fewest) - frame
	fmt.Fprintf(&v.out, "\n%s\n", v.style(bold, " SHARE      TOTAL  CALL TREE"))
	least, start := 0.0, v.out.Len()
	for _, share := range leastShares {
		kept, lines := prune(branches, share*float64(total)/100)
		v.out.Truncate(start)
		for _, b := range kept {
			v.writeBranch(b, "", "")
		}
		least = share
		if v.opts.Height > 0 && bytes.Count(v.out.Bytes()[start:], []byte("\n")) <= room ||
			v.opts.Height <= 0 && (v.opts.Top == 0 || lines <= 2*v.opts.Top) {
			break
		}
	}
	if v.opts.Height > 0 {
		v.cut(start, room)
	}
	fmt.Fprintln(&v.out, v.style(faint, fmt.Sprintf(footer, least)))
}

// cut removes everything after the first lines from start on.
func (v *view) cut(start, lines int) {
	end := start
	for range lines {
		n := bytes.IndexByte(v.out.Bytes()[end:], '\n')
		if n < 0 {
			return
		}
		end += n + 1
	}
	v.out.Truncate(end)
}

// writeBranch writes a branch and its children. Its first line starts with first, all others with
// more.
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
	for i, line := range foldChain(names, self, room, v.chainLines()) {
		if i > 0 {
			fmt.Fprintln(&v.out, strings.Repeat(" ", shares)+v.style(faint, below)+line)
			continue
		}
		share, count := tenths(b.total, v.totals[v.metric]), quantity(b.total, &v.Metrics[v.metric])
		fmt.Fprintln(&v.out, padLeft(share, 6, v.style(v.heat(b.total), share))+" "+padLeft(count, 10, count)+"  "+v.style(faint, first)+v.emphasize(b, line))
	}
	if room > 0 && room <= leastName {
		more = strings.TrimSuffix(more, "   ") // too deep to indent any further
	}
	for i, child := range last.children {
		if i < len(last.children)-1 {
			v.writeBranch(child, more+"├─ ", more+"│  ")
		} else {
			v.writeBranch(child, more+"└─ ", more+"   ")
		}
	}
}

// padLeft right-aligns text in a column. styled is text in its style.
func padLeft(text string, width int, styled string) string {
	return strings.Repeat(" ", max(0, width-twwidth.Width(text))) + styled
}

// emphasize prints the name of a process at the start of a line in bold.
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

// arrow separates a caller from its callee.
const arrow = " → "

// chain returns a branch followed by the calls below it that contain nearly all of it, and the last
// of these branches.
func chain(b *branch) (calls []call, last *branch) {
	const nearlyAll = 0.95
	calls, last = []call{b.call}, b
	for len(last.children) == 1 && float64(last.children[0].total) >= nearlyAll*float64(b.total) {
		last = last.children[0]
		calls = append(calls, last.call)
	}
	return repeated(calls), last
}

// repeated merges consecutive equal calls, as in a recursion: "walk ×3".
func repeated(calls []call) (kept []call) {
	for i := 0; i < len(calls); {
		n := 1
		for i+n < len(calls) && calls[i+n] == calls[i] {
			n++
		}
		c := calls[i]
		if n > 1 {
			c.name = fmt.Sprintf("%s ×%d", c.name, n)
		}
		kept = append(kept, c)
		i += n
	}
	return kept
}

// chainLines returns how many lines a chain of calls may take.
func (v *view) chainLines() int {
	const lowScreen = 40
	if v.opts.Height > 0 && v.opts.Height < lowScreen {
		return 2
	}
	return 3
}

// wokenBy is the label between the stacks of a sleeper and its waker.
const wokenBy = "--"

// foldChain formats a chain of calls in at most maxLines lines of at most width columns (0: one
// line). If it does not fit, foldChain keeps the last calls of the program and the last two of the
// kernel, and counts the others. A sleeper and its waker get maxLines lines each.
func foldChain(calls []call, end string, width, maxLines int) []string {
	i := slices.IndexFunc(calls, func(c call) bool { return c.name == wokenBy })
	if i <= 0 || width == 0 {
		return foldCalls(calls, end, width, maxLines)
	}
	return append(foldCalls(calls[:i], strings.TrimRight(arrow, " "), width, maxLines), foldCalls(calls[i:], end, width, maxLines)...)
}

// foldCalls is foldChain for the calls of one thread.
func foldCalls(calls []call, end string, width, maxLines int) []string {
	names := make([]string, len(calls))
	kernel := 0 // number of kernel calls at the end
	for i, c := range calls {
		names[i] = c.name
		if kernel++; !c.kernel {
			kernel = 0
		}
	}
	if width == 0 {
		return []string{strings.Join(names, arrow) + end}
	}
	width -= 2 // continuation lines are indented
	lines := wrapChain(names, end, width)
	program, system := names[:len(names)-kernel], names[len(names)-kernel:]
	if len(program) == 0 {
		program, system = system, nil
	}
	for keep := len(program) - 1; len(lines) > maxLines && keep >= 0; keep-- {
		kept := slices.Concat(program[:1], lastOf(program[1:], keep), lastOf(system, 2))
		lines = wrapChain(kept, end, width)
	}
	return lines
}

// lastOf returns the last keep names, after the number of names that it drops, if any.
func lastOf(names []string, keep int) []string {
	out := len(names) - keep
	if out < 1 {
		return names
	}
	return slices.Concat([]string{fmt.Sprintf("… %d more …", out)}, names[out:])
}

// wrapChain wraps a chain after its arrows.
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
