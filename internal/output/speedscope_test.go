package output

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/profile"
)

// scope is speedscope's file with all that its schema requires. Pointers tell what is missing.
type scope struct {
	Schema string `json:"$schema"`
	Shared *struct {
		Frames []struct {
			Name *string `json:"name"`
			File string  `json:"file"`
			Line *uint   `json:"line"`
		} `json:"frames"`
	} `json:"shared"`
	Profiles []struct {
		Type       string        `json:"type"`
		Name       *string       `json:"name"`
		Unit       string        `json:"unit"`
		StartValue *uint64       `json:"startValue"`
		EndValue   *uint64       `json:"endValue"`
		Samples    [][]int       `json:"samples"`
		Weights    []json.Number `json:"weights"`
	} `json:"profiles"`
	Name               string `json:"name"`
	Exporter           string `json:"exporter"`
	ActiveProfileIndex int    `json:"activeProfileIndex"`
}

func speedscopeText(t *testing.T, p *profile.Profile, opts FileOptions) []byte {
	t.Helper()
	return jsonText(t, func(b *bytes.Buffer) error { return writeSpeedscope(b, p, opts) })
}

// readSpeedscope reads a file and holds it against the schema (speedscope's
// src/lib/file-format-spec.ts) and against what the importer (file-format.ts, profile.ts) throws at.
func readSpeedscope(t *testing.T, text []byte) *scope {
	t.Helper()
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	var s scope
	if err := in.Decode(&s); err != nil {
		t.Fatal(err)
	}
	if s.Schema != "https://www.speedscope.app/file-format-schema.json" || s.Shared == nil || s.Shared.Frames == nil || len(s.Profiles) == 0 {
		t.Fatalf("no file of speedscope: %.300s", text)
	}
	if s.ActiveProfileIndex < 0 || s.ActiveProfileIndex >= len(s.Profiles) {
		t.Errorf("profile %d of %d is active", s.ActiveProfileIndex, len(s.Profiles))
	}
	for i, f := range s.Shared.Frames {
		if f.Name == nil || *f.Name == "" {
			t.Errorf("frame %d has no name", i)
		}
	}
	units := []string{"none", "nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"}
	for i, p := range s.Profiles {
		if p.Type != "sampled" || p.Name == nil || !slices.Contains(units, p.Unit) || p.StartValue == nil || p.EndValue == nil ||
			p.Samples == nil || p.Weights == nil || len(p.Samples) != len(p.Weights) {
			t.Fatalf("profile %d is not as the schema wants it: %.300s", i, text)
		}
		sum := *p.StartValue
		for n, stack := range p.Samples {
			for _, f := range stack {
				if f < 0 || f >= len(s.Shared.Frames) {
					t.Fatalf("profile %d: sample %d has frame %d of %d", i, n, f, len(s.Shared.Frames))
				}
			}
			sum += weight(t, p.Weights[n])
		}
		if sum != *p.EndValue {
			t.Errorf("profile %d: the weights sum to %d, the profile ends at %d", i, sum, *p.EndValue)
		}
	}
	return &s
}

func weight(t *testing.T, n json.Number) uint64 {
	t.Helper()
	var v uint64
	if err := json.Unmarshal([]byte(n), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// stacks returns the sums of a profile by stack, with names as in folded lines.
func (s *scope) stacks(t *testing.T, i int) map[string]uint64 {
	t.Helper()
	sums := map[string]uint64{}
	for n, stack := range s.Profiles[i].Samples {
		var names []string
		for _, f := range stack {
			names = append(names, *s.Shared.Frames[f].Name)
		}
		sums[keepText(strings.Join(names, ";"))] += weight(t, s.Profiles[i].Weights[n])
	}
	return sums
}

func TestSpeedscope(t *testing.T) {
	var indented bytes.Buffer
	if err := json.Indent(&indented, speedscopeText(t, sample(), FileOptions{Inlines: true}), "", " "); err != nil {
		t.Fatal(err)
	}
	golden(t, "sample.speedscope.json", indented.Bytes())
}

func TestSpeedscopeHasTheFoldedStacksOfEveryMetric(t *testing.T) {
	for name, p := range map[string]*profile.Profile{"sample": sample(), "hostile": hostile(), "forest": forest(81, 300)} {
		for _, inlines := range []bool{false, true} {
			s := readSpeedscope(t, speedscopeText(t, p, FileOptions{Inlines: inlines}))
			if len(s.Profiles) != len(p.Metrics) {
				t.Fatalf("%s: %d profiles of %d metrics", name, len(s.Profiles), len(p.Metrics))
			}
			for m := range p.Metrics {
				want := map[string]uint64{}
				for _, l := range stackLines(p, m, inlines) {
					for i := range l.Frames {
						l.Frames[i] = plain(l.Frames[i])
					}
					want[keepText(strings.Join(l.Frames, ";"))] += l.Value * p.Metrics[m].Scale
				}
				if diff := cmp.Diff(want, s.stacks(t, m)); diff != "" {
					t.Errorf("%s, metric %d, inlines %t (-folded +speedscope):\n%s", name, m, inlines, diff)
				}
			}
		}
	}
}

func TestSpeedscopeStacksAreSortedAndEachIsThereOnce(t *testing.T) {
	for _, p := range readSpeedscope(t, speedscopeText(t, forest(82, 300), FileOptions{})).Profiles {
		for i := 1; i < len(p.Samples); i++ {
			if slices.Compare(p.Samples[i-1], p.Samples[i]) >= 0 {
				t.Fatalf("sample %d, %v, comes after %v", i, p.Samples[i], p.Samples[i-1])
			}
		}
	}
}

func TestSpeedscopeShowsTheChosenMetricFirstAndNoShares(t *testing.T) {
	p := forest(83, 50)
	p.Metrics = append(p.Metrics, profile.Metric{Name: "Percentage", Unit: "percent", Share: &profile.Share{Missing: 1, Whole: 0}},
		profile.Metric{Name: "Size", Unit: "bytes", Scale: 4096}, profile.Metric{Name: "Pages", Unit: "pages"})
	for i := range p.Rows {
		p.Rows[i].Values = append(p.Rows[i].Values, 0, 3, 2)
	}
	for chosen, want := range map[string]string{
		"":         "OnCPUTime nanoseconds, Switches none, Size bytes, Pages none, ",
		"switches": "Switches none, OnCPUTime nanoseconds, Size bytes, Pages none, ",
	} {
		s := readSpeedscope(t, speedscopeText(t, p, FileOptions{Metric: chosen}))
		got := ""
		for _, p := range s.Profiles {
			got += *p.Name + " " + p.Unit + ", "
		}
		if got != want || s.ActiveProfileIndex != 0 {
			t.Errorf("metric %q: profiles %s(%d is active), want %s", chosen, got, s.ActiveProfileIndex, want)
		}
	}
	if err := writeSpeedscope(&bytes.Buffer{}, p, FileOptions{Metric: "percentage"}); err == nil {
		t.Error("a share was chosen without an error")
	}
}

func TestSpeedscopeFramesSayWhereTheyAre(t *testing.T) {
	s := readSpeedscope(t, speedscopeText(t, sample(), FileOptions{Inlines: true}))
	got := map[string]string{}
	for _, f := range s.Shared.Frames {
		got[*f.Name] = f.File
	}
	for name, file := range map[string]string{
		"worker": "", "[truncated]": "", "_start": "/usr/bin/worker", "main": "/src/worker.c", "square": "/src/math.h",
		"vfs_read": "[kernel]", "[unknown] (libfoo.so)": "/usr/lib/libfoo.so",
	} {
		if f, found := got[name]; !found || f != file {
			t.Errorf("%s is in %q (%t), want %q", name, f, found, file)
		}
	}
}

func TestSpeedscopeOfAnEmptyProfileIsValid(t *testing.T) {
	p := sample()
	p.Objects, p.Frames, p.Stacks, p.Processes, p.Rows = nil, nil, nil, nil, nil
	readSpeedscope(t, speedscopeText(t, p, FileOptions{}))
}

func TestSpeedscopeCarriesNoHostileText(t *testing.T) {
	text := speedscopeText(t, hostile(), FileOptions{Inlines: true})
	checkVisible(t, string(text), "\n")
	s := readSpeedscope(t, text)
	checkVisible(t, s.Name, "")
	for _, f := range s.Shared.Frames {
		checkVisible(t, *f.Name, "")
		checkVisible(t, f.File, "")
	}
}

func TestAnExtensionComesBeforeThoseItEndsIn(t *testing.T) {
	for i, ending := range Forms() {
		for _, later := range Forms()[i+1:] {
			if strings.HasSuffix(later, ending) {
				t.Errorf("%s is never reached: it comes after %s", later, ending)
			}
		}
	}
}
