package output

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// WritePprof writes p as a gzipped pprof profile (github.com/google/pprof, proto/profile.proto).
// Each sample has a value for every metric, in base units. A metric that counts time-based samples
// has both the count ("samples/count") and the time ("cpu/nanoseconds"). Each object is a mapping
// with its build ID. Addresses are as in Frame.Address: offsets in the file, or kernel addresses.
// For a caller, they are within the call instruction, where pprof looks up lines. Labels are pid,
// comm and cgroup. It ignores the options and includes every metric and line.
func WritePprof(w io.Writer, p *profile.Profile, _ FileOptions) error {
	if err := Check(p); err != nil {
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

// pprofBuilder creates the parts of a pprof profile on first use, so that the file contains only
// what samples need.
type pprofBuilder struct {
	p         *profile.Profile
	out       *pprof.Profile
	mappings  []*pprof.Mapping  // by object
	locations []*pprof.Location // by frame
	functions map[pprof.Function]*pprof.Function
	cut       *pprof.Location // in place of the missing root of truncated stacks
}

func toPprof(p *profile.Profile) *pprof.Profile {
	b := &pprofBuilder{
		p: p,
		out: &pprof.Profile{
			DurationNanos: int64(p.Duration),
		},
		mappings:  make([]*pprof.Mapping, len(p.Objects)),
		locations: make([]*pprof.Location, len(p.Frames)),
		functions: make(map[pprof.Function]*pprof.Function),
	}
	if !p.Start.IsZero() {
		b.out.TimeNanos = p.Start.UnixNano()
	}
	b.types()
	b.comments()
	for i := range p.Rows {
		b.sample(&p.Rows[i])
	}
	b.sortMappings()
	return b.out
}

// types declares the values of a sample. pprof shows the first metric's base unit by default.
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

// countsTime reports whether a metric is a number of samples that each stand for some time.
func countsTime(m *profile.Metric) bool {
	return m.Type == "samples" && m.Unit == "nanoseconds"
}

// pprofUnit returns pprof's name of a unit.
func pprofUnit(unit string) string {
	if unit == "counts" {
		return "count"
	}
	return escape.Text(unit)
}

func (b *pprofBuilder) comments() {
	title := escape.Text(b.p.Collector)
	if b.p.Event != "" {
		title += " of " + escape.Text(b.p.Event)
	}
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
	// Leaf first: user code called the kernel stack last.
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

// location returns the location of a frame. As pprof requires, a frame without a name has no line.
// pprof then shows the mapping's name, and may symbolize by build ID.
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

// mapping returns the mapping of an object. It starts at the object's first byte, so that profiles
// of the same file can be merged, and extends beyond address.
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

// sortMappings puts programs first, then libraries, then the kernel, because pprof names a profile
// after its first mapping.
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

// clamp limits v to the largest value in pprof.
func clamp(v uint64) int64 {
	return int64(min(v, math.MaxInt64))
}
