package output

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/profile/diff"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// diffForm is one kind of file of a difference.
type diffForm struct {
	ending string
	write  func(*comparison, io.Writer) error
}

func diffForms() []diffForm {
	return []diffForm{
		{".svg", (*comparison).writeSVG},
		{".folded", (*comparison).writeFolded},
		{".json", (*comparison).writeJSON},
	}
}

// DiffForms returns the file extensions that WriteDiffFile supports, including the dot.
func DiffForms() []string {
	var endings []string
	for _, f := range diffForms() {
		endings = append(endings, f.ending)
	}
	return endings
}

// CheckDiffPath is CheckPath for WriteDiffFile.
func CheckDiffPath(path string) error {
	if _, err := diffFormOf(path); err != nil {
		return err
	}
	return checkPlace(path)
}

func diffFormOf(path string) (diffForm, error) {
	for _, f := range diffForms() {
		form, err := formOf(path)
		if err == nil && form.ending == f.ending {
			return f, nil
		}
	}
	return diffForm{}, &FormError{path, DiffForms()}
}

// WriteDiffFile writes the difference of two profiles to a file in the form that the extension of
// path selects, as WriteFile does:
//
//   - .svg is a differential flame graph: widths are the shares after, and colors the changes.
//   - .folded has lines "comm;root;…;leaf BEFORE AFTER", as difffolded.pl -n writes them.
//   - .json has the change of every function.
func WriteDiffFile(path string, d *diff.Diff, opts DiffOptions) error {
	f, err := diffFormOf(path)
	if err != nil {
		return err
	}
	c, err := newComparison(d, opts)
	if err != nil {
		return err
	}
	if err := replace(path, func(w io.Writer) error { return f.write(c, w) }); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// writeFolded writes the stacks of both sides. Counts before are scaled to the total after, and
// rounded down like difffolded.pl's.
func (c *comparison) writeFolded(w io.Writer) error {
	counts := make(map[string][2]uint64)
	for side := range 2 {
		f := fold(c.Profile, side, c.opts.Inlines)
		for _, line := range f.lines {
			stack := f.stack(line)
			both := counts[stack]
			both[side] = line.value
			counts[stack] = both
		}
	}
	out := bufio.NewWriter(w)
	for _, stack := range slices.Sorted(maps.Keys(counts)) {
		before := counts[stack][0]
		if c.totals[0] != c.totals[1] {
			before = uint64(float64(before) * float64(c.totals[1]) / float64(c.totals[0]))
		}
		fmt.Fprintf(out, "%s %d %d\n", stack, before, counts[stack][1])
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write folded stacks: %w", err)
	}
	return nil
}

// writeSVG draws the stacks of the profile after. A frame is red if its share is larger than before,
// blue if it is smaller, and gray if the change may be chance. Stacks that are gone have no width.
func (c *comparison) writeSVG(w io.Writer) error {
	const after = 1
	s := newSVG(c.Profile, after, FileOptions{Inlines: c.opts.Inlines})
	before, _ := s.tree.totals(0)
	changes, largest, gone := make([]change, len(before)), 0.0, uint64(0)
	for i := range changes {
		changes[i] = c.change(level{}, [2]uint64{before[i], s.totals[i]})
		if !changes[i].isChance() && s.drawn(i) {
			largest = max(largest, math.Abs(changes[i].change))
		}
		if s.totals[i] == 0 {
			gone += s.tree.self[0][i]
		}
	}
	s.paint = func(i int) (fill, about string) {
		about = fmt.Sprintf("before %s, change %s", percent(before[i], c.totals[0]), changeTexts(changes[i : i+1])[0])
		return changeColour(&changes[i], largest), about
	}
	s.title = c.names[0] + " → " + c.names[1]
	s.note([]string{
		strings.ReplaceAll(c.sides(), noBreak, " "),
		"Widths are shares after. Red: larger than before. Blue: smaller. Gray: the change may be chance.",
	})
	if gone > 0 {
		s.note([]string{"Not drawn: stacks that are gone, which were " + percent(gone, c.totals[0]) + " before."})
	}
	return s.write(w)
}

// changeColour returns the color of a change, stronger the nearer it is to the largest one.
func changeColour(c *change, largest float64) string {
	if c.isChance() {
		return "hsl(230,7%,88%)"
	}
	hue := 4
	if c.change < 0 {
		hue = 212
	}
	return fmt.Sprintf("hsl(%d,85%%,%.1f%%)", hue, 90-28*math.Sqrt(math.Abs(c.change)/largest))
}

// jsonDiff is the JSON form of a difference. Names are escaped as in every form.
type jsonDiff struct {
	Schema  string `json:"schema"`  // "ringtap-diff"
	Version int    `json:"version"` // 1
	// Before and After are what is compared.
	Before jsonSide `json:"before"`
	After  jsonSide `json:"after"`
	// Total says that functions have the counts of their callees, too.
	Total     bool         `json:"total"`
	Functions []jsonChange `json:"functions"` // of both profiles, the largest change first
}

// jsonSide is one of the two profiles.
type jsonSide struct {
	File    string  `json:"file"`
	Metric  string  `json:"metric"`
	Unit    string  `json:"unit"`
	Scale   uint64  `json:"scale"` // units that one count stands for
	Count   uint64  `json:"count"`
	Samples float64 `json:"samples"` // number of equal samples that the shares are as exact as
}

// jsonChange is the change of a function's share.
type jsonChange struct {
	Name   string  `json:"name"`
	Object string  `json:"object,omitempty"` // file name; missing if unknown
	Before uint64  `json:"before"`           // counts
	After  uint64  `json:"after"`
	Change float64 `json:"change"` // of the share, from -1 to 1
	Margin float64 `json:"margin"` // of the change, at 95 %
	Chance bool    `json:"chance"` // the change is not larger than the margin
}

func (c *comparison) writeJSON(w io.Writer) error {
	side := func(i int) jsonSide {
		m := &c.Metrics[i]
		return jsonSide{c.names[i], escape.Text(m.Name), escape.Text(m.Unit), max(m.Scale, 1), c.totals[i], c.samples[i]}
	}
	out := jsonDiff{Schema: "ringtap-diff", Version: 1, Before: side(0), After: side(1), Total: c.total,
		Functions: each(c.changes(), func(f change) jsonChange {
			j := jsonChange{Name: f.function.name, Before: f.counts[0], After: f.counts[1], Change: f.change, Margin: f.margin, Chance: f.isChance()}
			if f.function.object >= 0 && c.Objects[f.function.object].Path != "" {
				j.Object = objectName(&c.Objects[f.function.object])
			}
			return j
		}),
	}
	if err := json.NewEncoder(w).Encode(&out); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}
