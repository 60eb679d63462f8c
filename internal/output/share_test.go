package output

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/profile"
)

// cached is a profile whose third metric is a share of the two before it, and
// whose stacks end in a label.
func cached() *profile.Profile {
	p := sample()
	p.Metrics = []profile.Metric{
		{Name: "Misses", Type: "misses", Unit: "counts", Scale: 1},
		{Name: "References", Type: "references", Unit: "counts", Scale: 1},
		{Name: "Hits", Type: "hits", Unit: "percent", Scale: 1, Share: &profile.Share{Missing: 0, Whole: 1}},
	}
	p.Objects = append(p.Objects, profile.Object{Path: "[labels]", Labels: true})
	p.Frames = append(p.Frames, profile.Frame{Object: len(p.Objects) - 1, Name: "[near; far]"})
	p.Stacks = []profile.Stack{{Frames: []int{0, len(p.Frames) - 1}}, {Frames: []int{1}}}
	p.Rows = []profile.Row{
		{Process: 0, User: 0, Kernel: profile.None, Values: []uint64{10, 1000, 0}},
		{Process: 0, User: 0, Kernel: 1, Values: []uint64{290, 1000, 0}},
		{Process: 1, User: 1, Kernel: profile.None, Values: []uint64{30, 20, 0}}, // sampled one by one
		{Process: 2, User: 1, Kernel: profile.None, Values: []uint64{0, 0, 0}},
	}
	return p
}

func TestAShareIsMadeOfWhatItsRowsAddUpTo(t *testing.T) {
	var b bytes.Buffer
	p := cached()
	if err := WriteTables(&b, p, TableOptions{User: true, Metric: "references"}); err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for line := range strings.Lines(b.String()) {
		if cells := strings.Fields(line); len(cells) == 6 && cells[0] != "pid" {
			got = append(got, cells[3:])
		}
	}
	// The first two rows are one where kernel stacks are not shown.
	want := [][]string{{"0", "0", "0"}, {"30", "20", "0"}, {"300", "2000", "85"}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("rows %v, want %v", got, want)
	}
	if !strings.Contains(b.String(), ";[near: far]\n") {
		t.Errorf("the label is not the leaf of its trace, without an offset:\n%s", b.String())
	}
}

func TestAShareIsInNoFormThatAddsUp(t *testing.T) {
	p := cached()
	if err := CheckMetric("Hits", p.Metrics); err == nil || !strings.Contains(err.Error(), "Misses, References") {
		t.Errorf("the share as the metric: %v", err)
	}
	for _, s := range writePprof(t, p).Sample {
		if len(s.Value) != 2 {
			t.Errorf("a pprof sample has the values %v", s.Value)
		}
	}
	lines := pageLines(t, htmlText(t, p, FileOptions{}), 1)
	if len(lines) != 3 || !slices.Contains(lines[0].Frames, "[near: far]") && !slices.Contains(lines[1].Frames, "[near: far]") {
		t.Errorf("the page has %v", lines)
	}
	var got jsonProfile
	if err := json.Unmarshal(jsonText(t, func(b *bytes.Buffer) error { return writeJSON(b, p, FileOptions{}) }), &got); err != nil {
		t.Fatal(err)
	}
	if want := []uint64{290, 1000, 71}; !slices.Equal(got.Rows[1].Values, want) {
		t.Errorf("JSON has %v, want %v", got.Rows[1].Values, want)
	}
}

func TestTheSummaryTellsTheOtherMetricsTotals(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSummary(&b, cached(), TableOptions{Metric: "misses"}); err != nil {
		t.Fatal(err)
	}
	if want := "Totals: 2020 References, 84% Hits\n"; !strings.Contains(b.String(), want) {
		t.Errorf("no %q in\n%s", want, b.String())
	}
}
