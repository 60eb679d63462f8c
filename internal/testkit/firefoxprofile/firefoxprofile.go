// Package firefoxprofile reads profiles of the Firefox Profiler for tests, and checks them more
// strictly than the Profiler does: it reads wrong indexes without an error, and shows something.
//
// The format is version 60 of src/types/profile.ts in the Profiler's sources.
package firefoxprofile

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Profile is a processed profile. Tables have an array for each column.
type Profile struct {
	Meta struct {
		Interval, StartTime, ProfilingStartTime, ProfilingEndTime float64
		ProcessType, Stackwalk, Version                           int
		PreprocessedProfileVersion                                int
		Product, ImportedFrom                                     string
		Symbolicated, SymbolicationNotSupported                   bool
		UsesOnlyOneStackType, SourceCodeIsNotOnSearchfox          bool
		SampleUnits                                               map[string]string
		Categories                                                []struct {
			Name, Color   string
			Subcategories []string
		}
		MarkerSchema []struct {
			Name, TooltipLabel, TableLabel, ChartLabel, Description string
			Display                                                 []string
			Fields                                                  []struct{ Key, Label, Format string }
		}
		Extra []struct {
			Label   string
			Entries []struct{ Label, Format, Value string }
		}
	}
	Libs []struct{ Arch, Name, Path, DebugName, DebugPath, BreakpadID, CodeID string }

	Shared struct {
		StringArray []string
		StackTable  struct {
			Frame  []int
			Prefix []*int
			Length int
		}
		FrameTable struct {
			Address, InlineDepth, Func []int
			Category, Subcategory      []*int
			NativeSymbol, Line, Column []*int
			InnerWindowID              []*int
			Length                     int
		}
		FuncTable struct {
			Name                             []int
			IsJS, RelevantForJS              []bool
			Resource                         []int // -1: none
			Source, LineNumber, ColumnNumber []*int
			Length                           int
		}
		ResourceTable struct {
			Lib, Host  []*int
			Name, Type []int
			Length     int
		}
		NativeSymbols struct {
			LibIndex, Address, Name []int
			FunctionSize            []*int
			Length                  int
		}
		Sources struct {
			ID       []*string
			Filename []int
			Length   int
		}
	}
	Threads []Thread
}

// Thread is a track.
type Thread struct {
	ProcessType, ProcessName, Name      string
	ProcessStartupTime, RegisterTime    float64
	ProcessShutdownTime, UnregisterTime *float64
	PausedRanges                        []struct{}
	IsMainThread, ShowMarkersInTimeline bool
	PID, TID                            string
	Samples                             struct {
		Stack          []*int
		Time           []json.Number // milliseconds
		Weight         []float64
		WeightType     string
		ThreadCPUDelta []float64
		Length         int
	}
	Markers struct {
		Name      []int
		StartTime []float64
		EndTime   []*float64
		Phase     []int
		Category  []int
		Data      []Marker
		Length    int
	}
}

// Marker is what ringtap's markers say.
type Marker struct {
	Type, Reason, End string
	Count, CPU        *uint64
	Cause             *struct{ Stack *int }
}

// Read reads a profile and checks it.
func Read(t *testing.T, text []byte) *Profile {
	t.Helper()
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	p := &Profile{}
	if err := in.Decode(p); err != nil {
		t.Fatal(err)
	}
	c := &checker{t: t, p: p}
	c.meta()
	c.shared()
	for i := range p.Threads {
		c.thread(&p.Threads[i])
	}
	return p
}

// Stack returns the names of a stack's functions, root first. i may be nil.
func (p *Profile) Stack(i *int) (names []string) {
	for ; i != nil; i = p.Shared.StackTable.Prefix[*i] {
		function := p.Shared.FrameTable.Func[p.Shared.StackTable.Frame[*i]]
		names = append(names, p.Shared.StringArray[p.Shared.FuncTable.Name[function]])
	}
	slices.Reverse(names)
	return names
}

type checker struct {
	t *testing.T
	p *Profile
}

func (c *checker) meta() {
	m := &c.p.Meta
	if m.PreprocessedProfileVersion != 60 || m.Product == "" || !(m.Interval > 0) {
		c.t.Errorf("version %d, product %q, interval %v", m.PreprocessedProfileVersion, m.Product, m.Interval)
	}
	units := map[string]string{"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"}
	if !reflect.DeepEqual(m.SampleUnits, units) {
		c.t.Errorf("units are %v, want %v", m.SampleUnits, units)
	}
	colors := strings.Fields("transparent purple green orange yellow lightblue blue brown magenta red lightred darkgrey grey")
	grey := false
	for _, category := range m.Categories {
		grey = grey || category.Color == "grey"
		if !slices.Contains(colors, category.Color) || len(category.Subcategories) == 0 || category.Subcategories[0] != "Other" {
			c.t.Errorf("category %v", category)
		}
	}
	if !grey {
		c.t.Error("no category is grey, the color of the default")
	}
}

// columns checks that each column of a table has its length. Those in optional may be missing.
func (c *checker) columns(name string, table any, optional ...string) {
	v := reflect.ValueOf(table).Elem()
	length := int(v.FieldByName("Length").Int())
	for i := range v.NumField() {
		field, column := v.Type().Field(i).Name, v.Field(i)
		if column.Kind() != reflect.Slice || column.IsNil() && slices.Contains(optional, field) {
			continue
		}
		if column.IsNil() || column.Len() != length {
			c.t.Fatalf("%s.%s has %d entries of %d", name, field, column.Len(), length)
		}
	}
}

// indexes checks that all entries of a column are from least up to below limit.
func (c *checker) indexes(name string, column []int, least, limit int) {
	for i, index := range column {
		if index < least || index >= limit {
			c.t.Fatalf("%s[%d] is %d, want %d up to %d", name, i, index, least, limit-1)
		}
	}
}

// optional is indexes for a column that may have nulls.
func (c *checker) optional(name string, column []*int, limit int) {
	for i, index := range column {
		if index != nil && (*index < 0 || *index >= limit) {
			c.t.Fatalf("%s[%d] is %d, want up to %d", name, i, *index, limit-1)
		}
	}
}

func (c *checker) shared() {
	s := &c.p.Shared
	texts, categories := len(s.StringArray), len(c.p.Meta.Categories)
	c.columns("stackTable", &s.StackTable)
	c.indexes("stackTable.frame", s.StackTable.Frame, 0, s.FrameTable.Length)
	seen := make(map[[2]int]bool)
	for i, prefix := range s.StackTable.Prefix {
		key := [2]int{-1, s.StackTable.Frame[i]}
		if prefix != nil {
			key[0] = *prefix
		}
		if key[0] < -1 || key[0] >= i || seen[key] {
			c.t.Fatalf("stack %d is called by %d with frame %d, and such a stack exists: %t", i, key[0], key[1], seen[key])
		}
		seen[key] = true
	}
	c.columns("frameTable", &s.FrameTable)
	c.indexes("frameTable.func", s.FrameTable.Func, 0, s.FuncTable.Length)
	c.indexes("frameTable.address", s.FrameTable.Address, -1, 1<<62)
	c.indexes("frameTable.inlineDepth", s.FrameTable.InlineDepth, 0, 256)
	c.optional("frameTable.category", s.FrameTable.Category, categories)
	c.optional("frameTable.nativeSymbol", s.FrameTable.NativeSymbol, s.NativeSymbols.Length)
	for i, category := range s.FrameTable.Category {
		if category == nil != (s.FrameTable.Subcategory[i] == nil) ||
			category != nil && *s.FrameTable.Subcategory[i] >= len(c.p.Meta.Categories[*category].Subcategories) {
			c.t.Fatalf("frame %d has a category, or a subcategory, without the other", i)
		}
	}
	c.columns("funcTable", &s.FuncTable)
	c.indexes("funcTable.name", s.FuncTable.Name, 0, texts)
	c.indexes("funcTable.resource", s.FuncTable.Resource, -1, s.ResourceTable.Length)
	c.optional("funcTable.source", s.FuncTable.Source, s.Sources.Length)
	c.columns("resourceTable", &s.ResourceTable)
	c.optional("resourceTable.lib", s.ResourceTable.Lib, len(c.p.Libs))
	c.indexes("resourceTable.name", s.ResourceTable.Name, 0, texts)
	c.indexes("resourceTable.type", s.ResourceTable.Type, 0, 6)
	c.columns("nativeSymbols", &s.NativeSymbols)
	c.columns("sources", &s.Sources)
	c.indexes("sources.filename", s.Sources.Filename, 0, texts)
}

func (c *checker) thread(th *Thread) {
	name := "thread " + th.TID + " "
	stacks := c.p.Shared.StackTable.Length
	if th.PID == "" || th.TID == "" || th.Name == "" || th.ProcessName == "" {
		c.t.Errorf("thread %q of %q has no number or no name: %q of %q", th.TID, th.PID, th.Name, th.ProcessName)
	}
	s := &th.Samples
	c.columns(name+"samples", s, "ThreadCPUDelta")
	c.optional(name+"samples.stack", s.Stack, stacks)
	if !slices.Contains([]string{"samples", "tracing-ms"}, s.WeightType) {
		c.t.Errorf("%sweights are %q", name, s.WeightType)
	}
	if s.Length == 0 && s.ThreadCPUDelta != nil {
		c.t.Errorf("%shas CPU times without samples, with which the Profiler never ends", name)
	}
	times := make([]float64, s.Length)
	for i := range s.Time {
		times[i], _ = s.Time[i].Float64()
	}
	if !slices.IsSorted(times) || len(times) > 0 && (times[0] < 0 || times[len(times)-1] > c.p.Meta.ProfilingEndTime) {
		c.t.Errorf("%ssamples are not in the order of time, or outside of the recording", name)
	}
	m := &th.Markers
	c.columns(name+"markers", m)
	c.indexes(name+"markers.name", m.Name, 0, len(c.p.Shared.StringArray))
	c.indexes(name+"markers.category", m.Category, 0, len(c.p.Meta.Categories))
	c.indexes(name+"markers.phase", m.Phase, 0, 2)
	if !slices.IsSorted(m.StartTime) {
		c.t.Errorf("%smarkers are not in the order of time", name)
	}
	for i := range m.Data {
		c.marker(th, i)
	}
}

func (c *checker) marker(th *Thread, i int) {
	m, data := &th.Markers, &th.Markers.Data[i]
	if data.Cause != nil {
		c.optional("cause", []*int{data.Cause.Stack}, c.p.Shared.StackTable.Length)
	}
	known := false
	for _, schema := range c.p.Meta.MarkerSchema {
		known = known || schema.Name == data.Type
	}
	const interval = 1
	if !known || (m.Phase[i] == interval) != (m.EndTime[i] != nil) || m.EndTime[i] != nil && *m.EndTime[i] < m.StartTime[i] {
		c.t.Errorf("thread %s: marker %d of type %q in phase %d ends wrongly", th.TID, i, data.Type, m.Phase[i])
	}
}
