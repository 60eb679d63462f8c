package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/profile"
)

// WritePprof writes p as a gzipped pprof profile (github.com/google/pprof,
// proto/profile.proto). A sample has a value for every metric, in base units;
// where the metric counts samples of time it has both the count
// ("samples/count") and the time ("cpu/nanoseconds"). Each object is a mapping
// with its build id, in which addresses are those of Frame.Address: offsets in
// the file, or kernel addresses, inside the calling instruction for a caller, as
// pprof looks lines up. Samples are labelled with pid, comm and
// cgroup. The options are not used: every metric and every line is there.
func WritePprof(w io.Writer, p *profile.Profile, _ FileOptions) error {
	if err := check(p); err != nil {
		return err
	}
	out := toPprof(addable(p))
	if err := out.CheckValid(); err != nil {
		return fmt.Errorf("make pprof profile of %s: %w", escape.Text(p.Collector), err)
	}
	if err := out.Write(w); err != nil {
		return fmt.Errorf("write pprof profile: %w", err)
	}
	return nil
}

// pprofBuilder makes the parts of a pprof profile when they are first named,
// so that nothing is in the file that no sample needs.
type pprofBuilder struct {
	p         *profile.Profile
	out       *pprof.Profile
	mappings  []*pprof.Mapping  // by object
	locations []*pprof.Location // by frame
	functions map[pprof.Function]*pprof.Function
	cut       *pprof.Location // the missing root of a truncated stack
}

func toPprof(p *profile.Profile) *pprof.Profile {
	b := &pprofBuilder{
		p: p,
		out: &pprof.Profile{
			TimeNanos:     p.Start.UnixNano(),
			DurationNanos: int64(p.Duration),
		},
		mappings:  make([]*pprof.Mapping, len(p.Objects)),
		locations: make([]*pprof.Location, len(p.Frames)),
		functions: make(map[pprof.Function]*pprof.Function),
	}
	b.types()
	b.comments()
	for i := range p.Rows {
		b.sample(&p.Rows[i])
	}
	b.sortMappings()
	return b.out
}

// types declares the values of a sample. The first that shows the first
// metric's base unit is the one that pprof opens with.
func (b *pprofBuilder) types() {
	for i := range b.p.Metrics {
		m := &b.p.Metrics[i]
		name := escape.Text(m.Type)
		if countsTime(m) {
			b.out.SampleType = append(b.out.SampleType, &pprof.ValueType{Type: name, Unit: "count"})
			name = "cpu"
		}
		b.out.SampleType = append(b.out.SampleType, &pprof.ValueType{Type: name, Unit: pprofUnit(m.Unit)})
		if i == 0 {
			b.out.DefaultSampleType = name
		}
	}
	if b.p.Period > 0 {
		b.out.PeriodType = &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}
		b.out.Period = int64(b.p.Period)
	}
}

// countsTime reports whether a metric is a number of samples each of which
// stands for some time.
func countsTime(m *profile.Metric) bool {
	return m.Type == "samples" && m.Unit == "nanoseconds"
}

// pprofUnit is pprof's word for a unit of the tables.
func pprofUnit(unit string) string {
	if unit == "counts" {
		return "count"
	}
	return escape.Text(unit)
}

func (b *pprofBuilder) comments() {
	title := fmt.Sprintf("%s of %s", escape.Text(b.p.Collector), escape.Text(b.p.Event))
	if b.p.Host != "" {
		title += " on " + escape.Text(b.p.Host)
	}
	b.out.Comments = append(b.out.Comments, title)
	if b.p.Command != "" {
		b.out.Comments = append(b.out.Comments, escape.Text(b.p.Command))
	}
	b.out.Comments = append(b.out.Comments, accountLines(b.p)...)
	for _, note := range b.p.Notes {
		b.out.Comments = append(b.out.Comments, escape.Text(note))
	}
}

func (b *pprofBuilder) sample(r *profile.Row) {
	s := &pprof.Sample{Label: map[string][]string{}, NumLabel: map[string][]int64{}}
	for i, v := range r.Values {
		m := &b.p.Metrics[i]
		if countsTime(m) {
			s.Value = append(s.Value, clamp(v))
		}
		s.Value = append(s.Value, clamp(scaled(v, m)))
	}
	// Leaf first: the kernel stack is what user code called last.
	s.Location = b.stack(s.Location, r.Kernel)
	s.Location = b.stack(s.Location, r.User)
	q := &b.p.Processes[r.Process]
	s.NumLabel["pid"] = []int64{int64(q.PID)}
	s.Label["comm"] = []string{escape.Text(q.Comm)}
	if q.Cgroup != "" {
		s.Label["cgroup"] = []string{escape.Text(q.Cgroup)}
	}
	b.out.Sample = append(b.out.Sample, s)
}

func (b *pprofBuilder) stack(dst []*pprof.Location, id int) []*pprof.Location {
	if id == profile.None {
		return dst
	}
	s := &b.p.Stacks[id]
	for i := len(s.Frames) - 1; i >= 0; i-- {
		dst = append(dst, b.location(s.Frames[i]))
	}
	if s.Truncated {
		if b.cut == nil {
			b.cut = b.newLocation()
			b.cut.Line = []pprof.Line{{Function: b.function(truncatedName, truncatedName, "", 0)}}
		}
		dst = append(dst, b.cut)
	}
	return dst
}

func (b *pprofBuilder) newLocation() *pprof.Location {
	l := &pprof.Location{ID: uint64(len(b.out.Location) + 1)}
	b.out.Location = append(b.out.Location, l)
	return l
}

// location makes a frame a location. One without a name has no line, as pprof
// wants it: it shows the mapping's name then, and may symbolize by build id.
func (b *pprofBuilder) location(id int) *pprof.Location {
	if b.locations[id] != nil {
		return b.locations[id]
	}
	f := &b.p.Frames[id]
	l := b.newLocation()
	l.Address = f.Address
	l.Mapping = b.mapping(f.Object, f.Address)
	b.locations[id] = l
	outer := len(f.Lines) - 1
	for i := range f.Lines {
		line := &f.Lines[i]
		name, raw := escape.Text(line.Function), escape.Text(line.Function)
		if i == outer && f.Name != "" {
			name, raw = escape.Text(f.Name), escape.Text(f.RawName)
		}
		l.Line = append(l.Line, pprof.Line{
			Function: b.function(name, raw, escape.Text(line.File), line.Start),
			Line:     int64(line.Line),
		})
	}
	if len(f.Lines) == 0 && f.Name != "" {
		l.Line = []pprof.Line{{Function: b.function(escape.Text(f.Name), escape.Text(f.RawName), "", 0)}}
	}
	return l
}

func (b *pprofBuilder) function(name, raw, file string, start int) *pprof.Function {
	key := pprof.Function{Name: name, SystemName: raw, Filename: file, StartLine: int64(start)}
	if f := b.functions[key]; f != nil {
		return f
	}
	f := &pprof.Function{ID: uint64(len(b.out.Function) + 1)}
	f.Name, f.SystemName, f.Filename, f.StartLine = name, raw, file, key.StartLine
	b.functions[key] = f
	b.out.Function = append(b.out.Function, f)
	return f
}

// mapping makes an object a mapping that begins at its first byte, so that two
// profiles of one file merge, and reaches past the last address seen.
func (b *pprofBuilder) mapping(object int, address uint64) *pprof.Mapping {
	m := b.mappings[object]
	if m == nil {
		o := &b.p.Objects[object]
		m = &pprof.Mapping{
			ID:              uint64(len(b.out.Mapping) + 1),
			File:            escape.Text(o.Path),
			BuildID:         escape.Text(o.BuildID),
			HasFunctions:    o.HasFunctions,
			HasFilenames:    o.HasLines,
			HasLineNumbers:  o.HasLines,
			HasInlineFrames: o.HasInlines,
		}
		b.mappings[object] = m
		b.out.Mapping = append(b.out.Mapping, m)
	}
	const page = 4096
	if address >= m.Limit {
		m.Limit = address&^(page-1) + page
		if m.Limit < address {
			m.Limit = math.MaxUint64 // the last page
		}
	}
	return m
}

// sortMappings puts programs first, libraries next and the kernel last: pprof
// names a profile after its first mapping.
func (b *pprofBuilder) sortMappings() {
	rank := func(m *pprof.Mapping) int {
		switch {
		case !strings.HasPrefix(m.File, "/"):
			return 2
		case strings.Contains(m.File, ".so"):
			return 1
		}
		return 0
	}
	slices.SortStableFunc(b.out.Mapping, func(x, y *pprof.Mapping) int { return cmp.Compare(rank(x), rank(y)) })
	for i, m := range b.out.Mapping {
		m.ID = uint64(i + 1)
	}
}

// clamp makes v a value of pprof, which has no larger ones than this.
func clamp(v uint64) int64 {
	return int64(min(v, math.MaxInt64))
}
