package report

import (
	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/profile"
)

// pageData is the tree as model.js reads it: columns of numbers, because a
// hundred thousand objects would cost ten times the bytes and the time.
type pageData struct {
	Metrics []jsonMetric `json:"metrics"`
	Metric  int          `json:"metric"` // the one shown first
	Objects []string     `json:"objects"`
	// Levels are [name, object or -1, kind, file or ""].
	Levels [][4]any `json:"levels"`
	// Level and Up have one entry for each node, parents first: its level, and
	// how many levels it lies above a child of the node before it.
	Level []int32 `json:"level"`
	Up    []int32 `json:"up"`
	// Self has, for each metric, the counts that end at each node.
	Self [][]uint64 `json:"self"`
}

// kindNames are what the page calls the kinds.
var kindNames = [...]string{user: "user", inlined: "inlined", kernel: "kernel", unknown: "unknown", label: "label", process: "process", cut: "truncated"}

func pageDataOf(p *profile.Profile, t *tree, metric int) *pageData {
	d := &pageData{
		Metric:  metric,
		Metrics: toJSON(&profile.Profile{Metrics: p.Metrics}).Metrics,
		Objects: each(p.Objects, func(o profile.Object) string { return escape.Text(o.Path) }),
		Levels:  make([][4]any, len(t.levels)),
		Level:   make([]int32, len(t.nodes)),
		Up:      make([]int32, len(t.nodes)),
		Self:    t.self,
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
