package stdio

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/text/escape"
)

// graph writes the callchains of an entry as a tree.
type graph struct {
	opts      *Chains
	functions []function
	total     uint64 // the event's sum of periods
	skipFirst bool   // leave out the first function if all callchains have it: the entry's line ends with it
	out       *strings.Builder
}

// branch is a node of the tree: functions in which all its callchains agree.
type branch struct {
	functions     []int
	period, count uint64
	rest          []suffix // of the callchains that go on
}

// restSum returns the sums of periods and counts of the callchains that go on.
func (b *branch) restSum() (period, count uint64) {
	for i := range b.rest {
		period, count = period+b.rest[i].period, count+b.rest[i].count
	}
	return period, count
}

// margin comes before each line of a tree.
const margin = "            "

// write writes the callchains of an entry with the given sum of periods, and an empty line. It writes
// nothing if there are none.
func (g *graph) write(chains []suffix, period uint64) {
	root := branch{rest: chains}
	shown := g.branches(&root)
	if len(shown) == 0 {
		return
	}
	indent, parent := margin, &root
	if only := &shown[0]; len(shown) == 1 && only.period == period {
		// A share would only repeat that of the entry.
		functions := only.functions
		if g.skipFirst {
			functions = functions[1:]
		}
		if len(functions) > 0 {
			fmt.Fprintf(g.out, "%s|\n%s---", margin, margin)
			indent += "   "
		}
		for i, f := range functions {
			if i > 0 {
				g.out.WriteString(indent)
			}
			g.writeFunction(f)
		}
		if parent, shown = only, g.branches(only); len(functions)+len(shown) == 0 {
			return
		}
	}
	total := g.total
	if g.opts.Fractal {
		total = period
	}
	g.level(parent, shown, total, indent, []bool{true})
	g.out.WriteByte('\n')
}

// level writes the branches of a node, and theirs. total is 100 %. lines says which of the vertical
// lines on the left go on; the last one is that of this level.
func (g *graph) level(parent *branch, shown []branch, total uint64, indent string, lines []bool) {
	_, leftCount := parent.restSum()
	left := total
	below := slices.Clone(lines)
	for i := range shown {
		b := &shown[i]
		left, leftCount = left-min(left, b.period), leftCount-b.count
		if i == len(shown)-1 && (!g.opts.Fractal || left == 0) {
			below[len(below)-1] = false
		}
		g.out.WriteString(indent)
		for _, line := range lines {
			g.out.WriteString(bar(line) + blank)
		}
		g.out.WriteByte('\n')
		for j, f := range b.functions {
			g.writeIndent(indent, below, j == 0, b.period, b.count, total)
			g.writeFunction(f)
		}
		next := total
		if g.opts.Fractal {
			next, _ = b.restSum()
		}
		g.level(b, g.branches(b), next, indent, append(slices.Clone(below), true))
	}
	if g.opts.Fractal && left > 0 && left != total && (g.opts.Value != Count || leftCount > 0) {
		below[len(below)-1] = false
		g.writeIndent(indent, below, true, left, leftCount, total)
		g.out.WriteString("[...]\n")
	}
}

// blank is as wide as a share: "--12.34%--".
const blank = "          "

func bar(line bool) string {
	if line {
		return "|"
	}
	return " "
}

// writeIndent writes what is left of a function. The first function of a branch has its value there.
func (g *graph) writeIndent(indent string, lines []bool, first bool, period, count, total uint64) {
	g.out.WriteString(indent)
	for i, line := range lines {
		g.out.WriteString(bar(line))
		if !first || i < len(lines)-1 {
			g.out.WriteString(blank)
			continue
		}
		switch g.opts.Value {
		case Percent:
			fmt.Fprintf(g.out, "--%.2f%%--", percentOf(period, total))
		case Period:
			fmt.Fprintf(g.out, "--%d--", period)
		case Count:
			fmt.Fprintf(g.out, "--%d--", count)
		}
	}
}

func (g *graph) writeFunction(f int) {
	g.out.WriteString(escape.Text(g.functions[f].inChain()))
	g.out.WriteByte('\n')
}

// branches returns the branches of a node that have enough samples to be shown, the ones with the
// most first.
func (g *graph) branches(of *branch) []branch {
	least := uint64(float64(g.total) * (g.opts.MinPercent / 100))
	if g.opts.Fractal {
		period, _ := of.restSum()
		least = uint64(math.Ceil(float64(period) * (g.opts.MinPercent / 100)))
	}
	index := make(map[int]int)
	var all []branch
	for _, s := range of.rest {
		i, ok := index[s.functions[0]]
		if !ok {
			i = len(all)
			index[s.functions[0]] = i
			all = append(all, branch{functions: s.functions})
		}
		b := &all[i]
		b.functions = b.functions[:common(b.functions, s.functions)]
		b.period, b.count, b.rest = b.period+s.period, b.count+s.count, append(b.rest, s)
	}
	all = slices.DeleteFunc(all, func(b branch) bool { return b.period < least })
	for i := range all {
		b := &all[i]
		rest := b.rest[:0]
		for _, s := range b.rest {
			if s.functions = s.functions[len(b.functions):]; len(s.functions) > 0 {
				rest = append(rest, s)
			}
		}
		b.rest = rest
	}
	slices.SortFunc(all, g.compare)
	return all
}

// common returns how many functions are the same at the start of a and b.
func common(a, b []int) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// compare compares branches of a node. Those that are equal have the order of perf's tree, if they
// are in one object.
func (g *graph) compare(a, b branch) int {
	f, h := &g.functions[a.functions[0]], &g.functions[b.functions[0]]
	return cmp.Or(cmp.Compare(b.period, a.period), strings.Compare(f.dso, h.dso), cmp.Compare(h.start, f.start), strings.Compare(f.name, h.name))
}
