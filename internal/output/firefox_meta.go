package output

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/text/escape"
)

// firefoxMeta is the part of a Firefox profile that describes the recording. Some fields make sense
// for Firefox alone, but the Profiler requires them.
type firefoxMeta struct {
	Interval                   float64           `json:"interval"`  // ms
	StartTime                  float64           `json:"startTime"` // ms since 1970; 0 if unknown
	ProfilingStartTime         float64           `json:"profilingStartTime"`
	ProfilingEndTime           float64           `json:"profilingEndTime"`
	ProcessType                int               `json:"processType"`
	Product                    string            `json:"product"`
	ImportedFrom               string            `json:"importedFrom"`
	Stackwalk                  int               `json:"stackwalk"`
	Version                    int               `json:"version"` // of Firefox's own format: not read
	PreprocessedProfileVersion int               `json:"preprocessedProfileVersion"`
	Symbolicated               bool              `json:"symbolicated"`
	SymbolicationNotSupported  bool              `json:"symbolicationNotSupported"`
	UsesOnlyOneStackType       bool              `json:"usesOnlyOneStackType"` // no JavaScript
	SourceCodeIsNotOnSearchfox bool              `json:"sourceCodeIsNotOnSearchfox"`
	SampleUnits                map[string]string `json:"sampleUnits"`
	Categories                 []firefoxCategory `json:"categories"`
	MarkerSchema               []firefoxSchema   `json:"markerSchema"`
	Extra                      []firefoxSection  `json:"extra"`
}

type firefoxCategory struct {
	Name          string   `json:"name"`
	Color         string   `json:"color"`
	Subcategories []string `json:"subcategories"`
}

// Indexes of the categories.
const (
	categoryUser = iota
	categoryKernel
	categoryWait
	categoryOther
)

// firefoxCategories returns the categories. The first grey one is the default.
func firefoxCategories() []firefoxCategory {
	all := []firefoxCategory{
		categoryUser: {Name: "User", Color: "yellow"}, categoryKernel: {Name: "Kernel", Color: "orange"},
		categoryWait: {Name: "Off CPU", Color: "blue"}, categoryOther: {Name: "Other", Color: "grey"},
	}
	for i := range all {
		all[i].Subcategories = []string{"Other"}
	}
	return all
}

// firefoxSchema describes one type of markers.
type firefoxSchema struct {
	Name         string         `json:"name"`
	TooltipLabel string         `json:"tooltipLabel"`
	TableLabel   string         `json:"tableLabel"`
	ChartLabel   string         `json:"chartLabel"`
	Display      []string       `json:"display"`
	Fields       []firefoxField `json:"fields"`
	Description  string         `json:"description"`
}

type firefoxField struct {
	Key    string `json:"key,omitempty"`
	Label  string `json:"label"`
	Format string `json:"format"`
	Value  string `json:"value,omitempty"` // in meta.extra
}

// firefoxSchemas returns the types of markers.
func firefoxSchemas() []firefoxSchema {
	places := []string{"marker-chart", "marker-table", "timeline-overview"}
	return []firefoxSchema{
		{"wait", "{marker.name}: {marker.data.reason}", "{marker.data.reason}", "{marker.data.reason}", places, []firefoxField{
			{Key: "reason", Label: "Reason", Format: "string"},
			{Key: "end", Label: "End", Format: "string"},
		}, "The thread was not on a CPU. The stack is that with which it left."},
		{"event", "{marker.name}", "{marker.data.count}", "{marker.name}", places, []firefoxField{
			{Key: "count", Label: "Count", Format: "integer"},
			{Key: "cpu", Label: "CPU", Format: "integer"},
		}, "A sample of another event than the one that the call tree counts."},
	}
}

type firefoxSection struct {
	Label   string         `json:"label"`
	Entries []firefoxField `json:"entries"`
}

func (f *firefox) meta() *firefoxMeta {
	const milli = 1e6
	m := &firefoxMeta{
		Interval: 1, ProfilingEndTime: float64(f.t.End-f.t.Begin) / milli,
		Product: "ringtap", ImportedFrom: "ringtap", Stackwalk: 1, Version: 24, PreprocessedProfileVersion: firefoxVersion,
		Symbolicated: true, SymbolicationNotSupported: true, UsesOnlyOneStackType: true, SourceCodeIsNotOnSearchfox: true,
		SampleUnits: map[string]string{"time": "ms", "eventDelay": "ms", "threadCPUDelta": "ns"},
		Categories:  firefoxCategories(), MarkerSchema: firefoxSchemas(),
	}
	if interval := f.t.Events[f.metric].Interval; interval > 0 {
		m.Interval = float64(interval) / milli
	}
	if !f.t.Start.IsZero() {
		m.StartTime = float64(f.t.Start.UnixMicro()) / 1e3
	}
	m.Extra = []firefoxSection{{Label: "Recording", Entries: f.entries()}}
	return m
}

// entries returns what the Profiler shows about the recording.
func (f *firefox) entries() (entries []firefoxField) {
	add := func(label, value string) {
		if value != "" {
			entries = append(entries, firefoxField{Label: label, Format: "string", Value: value})
		}
	}
	add("Samples", escape.Text(f.p.Metrics[f.metric].Name))
	add("Host", escape.Text(f.p.Host))
	add("Command", escape.Text(f.p.Command))
	add("Start, as perf script prints times", fmt.Sprintf("%d.%09d", f.t.Begin/1e9, f.t.Begin%1e9))
	add("Received", strings.Join(accountLines(f.p), "; "))
	for _, note := range f.p.AllNotes() {
		add("Note", escape.Text(note))
	}
	return entries
}
