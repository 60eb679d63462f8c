package output

import (
	"math"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// pageData is the tree in the form that model.js reads: columns of numbers. A hundred thousand
// objects would need ten times the space and time.
type pageData struct {
	Metrics []jsonMetric `json:"metrics"`
	Metric  int          `json:"metric"` // index of the one shown first
	Objects []string     `json:"objects"`
	// Levels are [name, object or -1, kind, file or ""].
	Levels [][4]any `json:"levels"`
	// Level and Up have one entry per node, parents first. Level is the node's level. Up is how
	// many levels the node is above a child of the previous node.
	Level []int32 `json:"level"`
	Up    []int32 `json:"up"`
	// Self has, for each metric, the count of each node without its children.
	Self [][]uint64 `json:"self"`
	// Functions has, for each metric, [level, count] pairs for the first column of the table of
	// functions. As in the terminal view, a wait or an allocation counts for the function that
	// waits or allocates, and not for the leaf of its stack.
	Functions [][][2]uint64 `json:"functions"`
}

// kindNames are the names of kinds on the page.
var kindNames = [...]string{user: "user", inlined: "inlined", kernel: "kernel", unknown: "unknown", label: "label", process: "process", cut: "truncated"}

func pageDataOf(p *profile.Profile, t *tree, metric int, inlines bool) *pageData {
	d := &pageData{
		Metric:  metric,
		Metrics: toJSON(&profile.Profile{Metrics: p.Metrics}).Metrics,
		Objects: each(p.Objects, func(o profile.Object) string { return escape.Text(o.Path) }),
		Levels:  make([][4]any, len(t.levels)),
		Level:   make([]int32, len(t.nodes)),
		Up:      make([]int32, len(t.nodes)),
		Self:    t.self,
	}
	ids := make(map[level]uint64, len(t.levels))
	for i, l := range t.levels {
		ids[l] = uint64(i)
	}
	for m := range p.Metrics {
		functions := [][2]uint64{}
		for _, h := range hottest(p, m, math.MaxInt, inlines) {
			functions = append(functions, [2]uint64{ids[h.function], h.count})
		}
		d.Functions = append(d.Functions, functions)
	}
	for i, l := range t.levels {
		d.Levels[i] = [4]any{l.name, l.object, kindNames[l.kind], t.files[i]}
	}
	before := int32(0)
	for i := range t.nodes {
		n := &t.nodes[i]
		d.Level[i] = n.level
		d.Up[i] = before + 1 - n.depth
		before = n.depth
	}
	return d
}
