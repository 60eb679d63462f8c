package output

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// Sizes in the picture, in its own units, which are pixels if it is not scaled.
const (
	svgWidth  = 1200
	svgMargin = 10
	svgRow    = 17
	svgHead   = 36 // for the title; notes are below
	svgNote   = 16
	svgFoot   = 28
	svgLetter = 6.63 // width of a letter: 0.602 of the 11 px of a monospace font

	// svgLeast is the inverse of the smallest share of the total that is drawn: 1/1000.
	svgLeast = 1000
	// svgDeepest is the number of levels that are drawn. A picture cannot be scrolled, and a
	// recursion would push everything else out of sight.
	svgDeepest = 150
)

// writeSVG writes p as a picture of its flame graph, with the root at the bottom. It contains no
// script. Viewers that show titles show a frame's full name, object, count and share. Frames below
// 0.1% of the total or above level 150 are omitted, and the picture says how many.
func writeSVG(w io.Writer, p *profile.Profile, opts FileOptions) error {
	metric, err := opts.metric(p)
	if err != nil {
		return err
	}
	s := newSVG(p, metric, opts)
	about := append([]string{escape.Text(s.metric.Name) + " " + quantity(s.sum, s.metric) + " during " + short(p.Duration)}, accountLines(p)...)
	s.note(append(about, each(p.Notes, escape.Text)...))
	return s.write(w)
}

type svg struct {
	p      *profile.Profile
	tree   *tree
	title  string
	metric *profile.Metric
	totals []uint64
	sum    uint64
	depth  int      // of the deepest frame that is drawn
	left   int      // number of frames that are not drawn
	notes  []string // lines below the title
	// paint returns the color of a node, and more about it for its title.
	paint func(node int) (fill, about string)
}

func newSVG(p *profile.Profile, metric int, opts FileOptions) *svg {
	s := &svg{p: p, tree: grow(p, opts.Inlines), title: title(p), metric: &p.Metrics[metric]}
	s.paint = func(i int) (fill, about string) { return colour(p, &s.tree.levels[s.tree.nodes[i].level]), "" }
	s.totals, s.sum = s.tree.totals(metric)
	for i := range s.tree.nodes {
		if s.drawn(i) {
			s.depth = max(s.depth, int(s.tree.nodes[i].depth))
		} else if s.totals[i] > 0 {
			s.left++
		}
	}
	return s
}

// drawn reports whether a node is wide enough and not too deep. Its parents are then drawn too.
func (s *svg) drawn(i int) bool {
	return s.totals[i] > 0 && s.tree.nodes[i].depth <= svgDeepest && float64(s.totals[i])*svgLeast >= float64(s.sum)
}

func (s *svg) height() int {
	return svgHead + len(s.notes)*svgNote + (s.depth+1)*svgRow + svgFoot
}

// note adds lines below the title.
func (s *svg) note(lines []string) {
	for _, line := range lines {
		s.notes = append(s.notes, strings.Split(wrap(line, " ", 180), "\n")...)
	}
}

func (s *svg) write(w io.Writer) error {
	out := bufio.NewWriter(w)
	s.draw(out)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write SVG: %w", err)
	}
	return nil
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
`, svgWidth, s.height(), html.EscapeString(s.title))
	s.words(w)
	s.box(w, 0, svgWidth-2*svgMargin, 0, []string{"all"}, s.sum, "hsl(230,7%,80%)")
	s.nodes(w)
	io.WriteString(w, "</svg>\n")
}

// words writes the text above and below the frames.
func (s *svg) words(w io.Writer) {
	fmt.Fprintf(w, "<text class=\"head\" x=\"%d\" y=\"26\">%s</text>\n", svgMargin, html.EscapeString(s.title))
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
	// next[d] is where the next node of depth d starts. A node is written before its children, so
	// the first child starts where the node does.
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
		fill, about := s.paint(i)
		lines := []string{l.name}
		if l.object >= 0 {
			lines = append(lines, escape.Text(s.p.Objects[l.object].Path))
		}
		if about != "" {
			lines = append(lines, about)
		}
		s.box(w, float64(start)*scale, float64(s.totals[i])*scale, int(n.depth), lines, s.totals[i], fill)
	}
}

// box draws a frame. lines are its title, starting with its name.
func (s *svg) box(w io.Writer, x, width float64, depth int, lines []string, count uint64, fill string) {
	x += svgMargin
	y := s.height() - svgFoot - (depth+1)*svgRow
	name := lines[0]
	lines = append(lines, fmt.Sprintf("%s, %s", quantity(count, s.metric), percent(count, s.sum)))
	fmt.Fprintf(w, `<g><title>%s</title><rect x="%.1f" y="%d" width="%.1f" height="%d" rx="1" fill="%s"/>`,
		html.EscapeString(strings.Join(lines, "\n")), x, y, max(width-0.5, 0.5), svgRow-1, fill)
	if text := clipName(name, int((width-8)/svgLetter)); text != "" {
		fmt.Fprintf(w, `<text x="%.1f" y="%d">%s</text>`, x+4, y+12, html.EscapeString(text))
	}
	io.WriteString(w, "</g>\n")
}

// clipName shortens a name to columns. It first removes the package path, which neighboring names
// share, then the end. It returns "" if the rest would say nothing.
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

// clip returns as much of the start of s as fits in columns.
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
