package output

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"strconv"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/text/escape"
)

const speedscopeSchema = "https://www.speedscope.app/file-format-schema.json"

// speedscopeFrame is an entry of shared.frames. speedscope adds up what has the same index, so all
// addresses of a function in an object share one frame.
type speedscopeFrame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"` // source file, or else the object
	Line int    `json:"line,omitempty"` // line of the function's declaration
}

// writeSpeedscope writes p in speedscope's own format (src/lib/file-format-spec.ts in its sources).
// The file has one sampled profile per metric that can be added up, the chosen metric first.
// Weights are in base units. The process is the root frame. Samples have no order in time, so they
// are sorted by their frames, each stack once. Stacks with the value zero are omitted.
func writeSpeedscope(w io.Writer, p *profile.Profile, opts FileOptions) error {
	first, err := opts.metric(p)
	if err != nil {
		return err
	}
	s := newSpeedscope(p, opts.Inlines)
	out := bufio.NewWriter(w)
	if err := s.write(out, s.metrics(first)); err != nil {
		return fmt.Errorf("write speedscope profile: %w", err)
	}
	return nil
}

// speedscope has the frames of the file by level, and for each part of a row the indexes of its
// frames. Rows become stacks only while they are written.
type speedscope struct {
	p         *profile.Profile
	frames    []speedscopeFrame // sorted by name
	processes []int             // by process
	levels    [][]int           // by frame of the profile, root first
	cut       int               // in place of the missing root of truncated stacks, if there are any
	rows      []int             // indexes of rows, sorted by stack
}

func newSpeedscope(p *profile.Profile, inlines bool) *speedscope {
	s := &speedscope{p: p, processes: make([]int, len(p.Processes)), levels: make([][]int, len(p.Frames))}
	var levels []level
	ids := map[level]int{}
	number := func(l level) int {
		id, seen := ids[l]
		if !seen {
			id = len(levels)
			ids[l] = id
			levels = append(levels, l)
			s.frames = append(s.frames, speedscopeFrame{Name: l.name})
		}
		return id
	}
	if slices.ContainsFunc(p.Stacks, func(s profile.Stack) bool { return s.Truncated }) {
		s.cut = number(level{truncatedName, -1, cut})
	}
	for i := range p.Processes {
		s.processes[i] = number(level{commName(&p.Processes[i]), -1, process})
	}
	l := newLeveler(p, inlines)
	for i := range p.Frames {
		lines := p.Frames[i].Lines
		for n, level := range l.frame(i) {
			id := number(level)
			s.levels[i] = append(s.levels[i], id)
			if line := len(lines) - 1 - n; line >= 0 && s.frames[id].File == "" {
				s.frames[id].File, s.frames[id].Line = escape.Text(lines[line].File), lines[line].Start
			}
		}
	}
	for id, level := range levels {
		if f := &s.frames[id]; f.File == "" && level.object >= 0 {
			f.File = escape.Text(p.Objects[level.object].Path)
		}
	}
	s.sort(levels)
	return s
}

// sort sorts the frames, and then the rows by their frames.
func (s *speedscope) sort(levels []level) {
	order := make([]int, len(levels))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := &levels[i], &levels[j]
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(a.object, b.object), cmp.Compare(a.kind, b.kind))
	})
	rank, frames := make([]int, len(order)), make([]speedscopeFrame, len(order))
	for to, from := range order {
		rank[from], frames[to] = to, s.frames[from]
	}
	s.frames = frames
	if len(rank) > 0 {
		s.cut = rank[s.cut]
	}
	for i := range s.processes {
		s.processes[i] = rank[s.processes[i]]
	}
	for _, ids := range s.levels {
		for i := range ids {
			ids[i] = rank[ids[i]]
		}
	}
	s.rows = make([]int, len(s.p.Rows))
	for i := range s.rows {
		s.rows[i] = i
	}
	var a, b []int
	slices.SortStableFunc(s.rows, func(i, j int) int {
		a, b = s.stack(a[:0], i), s.stack(b[:0], j)
		return slices.Compare(a, b)
	})
}

// stack appends the frames of a row, root first.
func (s *speedscope) stack(dst []int, row int) []int {
	r := &s.p.Rows[row]
	dst = append(dst, s.processes[r.Process])
	for _, id := range [2]int{r.User, r.Kernel} {
		if id == profile.None {
			continue
		}
		if s.p.Stacks[id].Truncated {
			dst = append(dst, s.cut)
		}
		for _, f := range s.p.Stacks[id].Frames {
			dst = append(dst, s.levels[f]...)
		}
	}
	return dst
}

// samples returns the distinct stacks that have a value, in order, with the value in base units. A
// stack is valid until the next one.
func (s *speedscope) samples(metric int) iter.Seq2[[]int, uint64] {
	m := &s.p.Metrics[metric]
	return func(yield func([]int, uint64) bool) {
		var last, next []int
		var count uint64
		for _, row := range s.rows {
			v := s.p.Rows[row].Values[metric]
			if v == 0 {
				continue
			}
			next = s.stack(next[:0], row)
			if count > 0 && !slices.Equal(last, next) {
				if !yield(last, scaled(count, m)) {
					return
				}
				count = 0
			}
			count = add(count, v)
			last, next = next, last
		}
		if count > 0 {
			yield(last, scaled(count, m))
		}
	}
}

// add returns a+b, or the largest uint64 on overflow.
func add(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// metrics returns the metrics of the file: the first, and then all others that are no shares.
func (s *speedscope) metrics(first int) []int {
	metrics := []int{first}
	for i := range s.p.Metrics {
		if i != first && s.p.Metrics[i].Share == nil {
			metrics = append(metrics, i)
		}
	}
	return metrics
}

// write writes the file. bufio.Writer keeps the first error, so only the flush is checked.
func (s *speedscope) write(out *bufio.Writer, metrics []int) error {
	out.WriteString(`{"$schema":` + quoted(speedscopeSchema) + `,"shared":{"frames":[`)
	for i := range s.frames {
		separate(out, i)
		text, err := json.Marshal(&s.frames[i])
		if err != nil {
			return err
		}
		out.Write(text)
	}
	out.WriteString(`]},"profiles":[`)
	for i, metric := range metrics {
		separate(out, i)
		s.writeProfile(out, metric)
	}
	out.WriteString(`],"name":` + quoted(title(s.p)) + `,"exporter":"ringtap","activeProfileIndex":0}` + "\n")
	return out.Flush()
}

func (s *speedscope) writeProfile(out *bufio.Writer, metric int) {
	m := &s.p.Metrics[metric]
	var sum uint64
	for _, weight := range s.samples(metric) {
		sum = add(sum, weight)
	}
	fmt.Fprintf(out, `{"type":"sampled","name":%s,"unit":"%s","startValue":0,"endValue":%d,"samples":[`,
		quoted(escape.Text(m.Name)), speedscopeUnit(m.Unit), sum)
	var digits []byte
	n := 0
	for stack := range s.samples(metric) {
		separate(out, n)
		out.WriteByte('[')
		for i, frame := range stack {
			separate(out, i)
			digits = strconv.AppendInt(digits[:0], int64(frame), 10)
			out.Write(digits)
		}
		out.WriteByte(']')
		n++
	}
	out.WriteString(`],"weights":[`)
	n = 0
	for _, weight := range s.samples(metric) {
		separate(out, n)
		digits = strconv.AppendUint(digits[:0], weight, 10)
		out.Write(digits)
		n++
	}
	out.WriteString(`]}`)
}

// speedscopeUnit returns one of the units that speedscope's schema has. ringtap's other unit is
// "counts".
func speedscopeUnit(unit string) string {
	switch unit {
	case "nanoseconds", "bytes":
		return unit
	}
	return "none"
}

// quoted returns escaped text as a JSON string.
func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string can always be written
	}
	return string(text)
}

// separate writes the comma before all but the first entry of a list.
func separate(out *bufio.Writer, i int) {
	if i > 0 {
		out.WriteByte(',')
	}
}
