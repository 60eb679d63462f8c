package output

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/profile"
)

func htmlText(t *testing.T, p *profile.Profile, opts FileOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := writeHTML(&b, p, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// embedded is what the page has of its script and its style.
var embedded = regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*?</script>|'sha256-[^']*'|&#39;sha256-.*?&#39;`)

func TestHTML(t *testing.T) {
	text := htmlText(t, sample(), FileOptions{Inlines: true})
	golden(t, "sample.html", []byte(embedded.ReplaceAllString(text, "(embedded)")))
}

// pageLines reads the data of a page as model.js does and folds it again.
func pageLines(t *testing.T, text string, metric int) []stackLine {
	t.Helper()
	_, data, _ := strings.Cut(text, `id="profile">`)
	data, _, _ = strings.Cut(data, "</script>")
	var page struct {
		Levels    [][4]any
		Level, Up []int
		Self      [][]uint64
	}
	if err := json.Unmarshal([]byte(data), &page); err != nil {
		t.Fatal(err)
	}
	sums := map[string]uint64{}
	var path []string
	for i, l := range page.Level {
		path = path[:len(path)-page.Up[i]]
		name := page.Levels[l][0].(string)
		switch page.Levels[l][2] {
		case "kernel":
			name += "_[k]"
		case "inlined":
			name += "_[i]"
		}
		path = append(path, name)
		if v := page.Self[metric][i]; v > 0 {
			sums[keepText(strings.Join(path, ";"))] += v
		}
	}
	var lines []stackLine
	for stack, v := range sums {
		lines = append(lines, stackLine{strings.Split(stack, ";"), v})
	}
	slices.SortFunc(lines, func(a, b stackLine) int { return slices.Compare(a.Frames, b.Frames) })
	return lines
}

func TestHTMLDataFoldsToTheFoldedLines(t *testing.T) {
	for name, p := range map[string]*profile.Profile{"sample": sample(), "hostile": hostile(), "forest": forest(81, 400)} {
		for _, inlines := range []bool{false, true} {
			text := htmlText(t, p, FileOptions{Inlines: inlines})
			for m := range p.Metrics {
				if diff := cmp.Diff(stackLines(p, m, inlines), pageLines(t, text, m)); diff != "" {
					t.Errorf("%s, inlines %v, metric %d: %s", name, inlines, m, diff)
				}
			}
		}
	}
}

func TestHTMLOfHostileTextHasItsOwnMarkupOnly(t *testing.T) {
	tags := regexp.MustCompile(`<[/a-z]+`)
	clean := tags.FindAllString(embedded.ReplaceAllString(htmlText(t, sample(), FileOptions{}), ""), -1)
	text := htmlText(t, hostile(), FileOptions{})
	dirty := tags.FindAllString(embedded.ReplaceAllString(text, ""), -1)
	if diff := cmp.Diff(clean, dirty); diff != "" {
		t.Errorf("hostile text changes the markup: %s", diff)
	}
	checkVisible(t, text, "\n")
}

func TestHTMLNamesNoOtherPlace(t *testing.T) {
	text := htmlText(t, sample(), FileOptions{})
	for _, word := range []string{"http:", "https:", "//cdn", "@import", "url(", " src=", "fetch(", "XMLHttpRequest", "import("} {
		if strings.Contains(text, word) {
			t.Errorf("the page holds %q: it must need nothing but itself", word)
		}
	}
	if !strings.Contains(text, `content="default-src &#39;none&#39;;`) {
		t.Error("the page does not forbid requests")
	}
}

func TestHTMLShowsTheChosenMetricFirst(t *testing.T) {
	text := htmlText(t, forest(82, 20), FileOptions{Metric: "Switches"})
	if !strings.Contains(text, `"metric":1,`) {
		t.Error("the second metric is not chosen")
	}
}

func TestAProfileWithoutTimesShowsNone(t *testing.T) {
	p := sample()
	p.Start, p.Duration = time.Time{}, 0
	text := htmlText(t, p, FileOptions{})
	for _, wrong := range []string{"0001-01-01", "Begin", "Duration", "0 ns"} {
		if strings.Contains(text, wrong) {
			t.Errorf("the page has %q", wrong)
		}
	}
	if got := writePprof(t, p); got.TimeNanos != 0 || got.DurationNanos != 0 {
		t.Errorf("the pprof profile is from %d and for %d ns", got.TimeNanos, got.DurationNanos)
	}
}
