package report

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/profile"
)

// Measures of the picture, in its own units (pixels where it is not scaled).
const (
	svgWidth  = 1200
	svgMargin = 10
	svgRow    = 17
	svgHead   = 36 // of the title; notes come below
	svgNote   = 16
	svgFoot   = 28
	svgLetter = 6.63 // advance of a letter: 0.602 of the 11 px of a monospace font

	// svgLeast is the share of the total, as one part of so many, that a frame
	// must have to be drawn.
	svgLeast = 1000
	// svgDeepest is the number of levels drawn: a picture can't be scrolled,
	// and a recursion would push everything else out of sight.
	svgDeepest = 150
)

// WriteSVG writes p as a picture of its flame graph, root at the bottom. It has
// no script; a viewer that shows titles shows a frame's whole name, object,
// count and share. Frames of less than 0.1% of the total and those more than 150
// levels up are left out, and the picture says how many.
func WriteSVG(w io.Writer, p *profile.Profile, opts FileOptions) error {
	metric, err := opts.metric(p)
	if err != nil {
		return err
	}
	s := newSVG(p, metric, opts)
	out := bufio.NewWriter(w)
	s.draw(out)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write SVG: %w", err)
	}
	return nil
}

type svg struct {
	p      *profile.Profile
	tree   *tree
	metric *profile.Metric
	totals []uint64
	sum    uint64
	depth  int      // of the deepest frame that is drawn
	left   int      // frames that are not
	notes  []string // below the title
}

func newSVG(p *profile.Profile, metric int, opts FileOptions) *svg {
	s := &svg{p: p, tree: grow(p, opts.Inlines), metric: &p.Metrics[metric]}
	s.totals, s.sum = s.tree.totals(metric)
	about := append([]string{escape.Text(s.metric.Name) + " " + quantity(s.sum, s.metric) + " during " + short(p.Duration)}, accountLines(p)...)
	for _, line := range append(about, each(p.Notes, escape.Text)...) {
		s.notes = append(s.notes, strings.Split(wrap(line, " ", 180), "\n")...)
	}
	for i := range s.tree.nodes {
		if s.drawn(i) {
			s.depth = max(s.depth, int(s.tree.nodes[i].depth))
		} else if s.totals[i] > 0 {
			s.left++
		}
	}
	return s
}

// drawn reports whether a node is wide and low enough. Its parents are, too.
func (s *svg) drawn(i int) bool {
	return s.totals[i] > 0 && s.tree.nodes[i].depth <= svgDeepest && float64(s.totals[i])*svgLeast >= float64(s.sum)
}

func (s *svg) height() int {
	return svgHead + len(s.notes)*svgNote + (s.depth+1)*svgRow + svgFoot
}

func (s *svg) draw(w io.Writer) {
	fmt.Fprintf(w, `<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" aria-label="%[3]s">
<title>%[3]s</title>
<style>
text { font: 11px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #17171c; pointer-events: none; }
.head { font: 600 17px system-ui, "DejaVu Sans", sans-serif; }
.note { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: #50505c; }
g:hover rect { stroke: #17171c; }
</style>
<rect width="100%%" height="100%%" fill="#fff"/>
`, svgWidth, s.height(), html.EscapeString(title(s.p)))
	s.words(w)
	s.box(w, 0, svgWidth-2*svgMargin, 0, "all", "", s.sum, "hsl(230,7%,80%)")
	s.nodes(w)
	io.WriteString(w, "</svg>\n")
}

// words writes what stands above and below the frames.
func (s *svg) words(w io.Writer) {
	fmt.Fprintf(w, "<text class=\"head\" x=\"%d\" y=\"26\">%s</text>\n", svgMargin, html.EscapeString(title(s.p)))
	for i, note := range s.notes {
		fmt.Fprintf(w, "<text class=\"note\" x=\"%d\" y=\"%d\">%s</text>\n", svgMargin, svgHead+8+i*svgNote, html.EscapeString(note))
	}
	if s.left > 0 {
		fmt.Fprintf(w, "<text class=\"note\" x=\"%d\" y=\"%d\">%s of less than 0.1%% or above level %d not drawn</text>\n",
			svgMargin, s.height()-10, plural(uint64(s.left), "frame"), svgDeepest)
	}
}

func (s *svg) nodes(w io.Writer) {
	scale := float64(svgWidth-2*svgMargin) / float64(max(s.sum, 1))
	// next[d] is where the next node of depth d begins; a node is written
	// before its children, so the first of them begins where it does.
	next := make([]uint64, s.tree.depth+2)
	for i := range s.tree.nodes {
		n := &s.tree.nodes[i]
		start := next[n.depth]
		next[n.depth] += s.totals[i]
		next[n.depth+1] = start
		if !s.drawn(i) {
			continue
		}
		l := &s.tree.levels[n.level]
		place := ""
		if l.object >= 0 {
			place = escape.Text(s.p.Objects[l.object].Path)
		}
		s.box(w, float64(start)*scale, float64(s.totals[i])*scale, int(n.depth), l.name, place, s.totals[i], colour(s.p, l))
	}
}

func (s *svg) box(w io.Writer, x, width float64, depth int, name, place string, count uint64, fill string) {
	x += svgMargin
	y := s.height() - svgFoot - (depth+1)*svgRow
	lines := []string{name}
	if place != "" {
		lines = append(lines, place)
	}
	lines = append(lines, fmt.Sprintf("%s, %s", quantity(count, s.metric), percent(count, s.sum)))
	fmt.Fprintf(w, `<g><title>%s</title><rect x="%.1f" y="%d" width="%.1f" height="%d" rx="1" fill="%s"/>`,
		html.EscapeString(strings.Join(lines, "\n")), x, y, max(width-0.5, 0.5), svgRow-1, fill)
	if text := clipName(name, int((width-8)/svgLetter)); text != "" {
		fmt.Fprintf(w, `<text x="%.1f" y="%d">%s</text>`, x+4, y+12, html.EscapeString(text))
	}
	io.WriteString(w, "</g>\n")
}

// clipName makes a name fit in columns: first without the path of its package,
// which the names around it share, then without its end. It is empty where
// what is left would say nothing.
func clipName(name string, columns int) string {
	if columns < 3 {
		return ""
	}
	if twwidth.Width(name) > columns {
		stop := len(name)
		if i := strings.IndexAny(name, "(<["); i >= 0 {
			stop = i
		}
		short := name[strings.LastIndexByte(name[:stop], '/')+1:]
		if strings.Contains(short, ".") { // "kworker/0:1" has no path
			name = short
		}
	}
	return clip(name, columns)
}

// clip returns as much of the beginning of s as fits in columns.
func clip(s string, columns int) string {
	if twwidth.Width(s) <= columns {
		return s
	}
	left := columns - 1
	for i, r := range s {
		left -= twwidth.Width(string(r))
		if left < 0 {
			return s[:i] + "…"
		}
	}
	return s
}
