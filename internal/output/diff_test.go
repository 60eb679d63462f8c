package output

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profile/diff"
)

// renamed is a profile like another one, of a program that was built again in another place: spin is
// a fifth of what it was, and the kernel's copy is now paste.
func renamed() *profile.Profile {
	p := shares()
	p.Objects[1] = profile.Object{Path: "/opt/new/busy", BuildID: "22"}
	for i := range p.Frames {
		p.Frames[i].Address = 0x2000 + uint64(i)
	}
	p.Frames[5].Name = "paste"
	p.Rows[0].Values = []uint64{8, 0}
	p.Rows[1].Values = []uint64{2, 0}
	return p
}

func diffOf(before, after *profile.Profile) *diff.Diff {
	return diff.New(diff.Side{Name: "old", Profile: before}, diff.Side{Name: "new", Profile: after})
}

func diffText(t *testing.T, d *diff.Diff, opts DiffOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteDiff(&b, d, opts); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// 50, 30 and 20 of 100 are before; 10, 30 and 20 of 60 after. The margins are from another program
// with Newcombe's formula.
func TestADifferenceHasTheFunctionsThatChangedByMoreThanChance(t *testing.T) {
	const want = `diff: old (100 ms on-CPU, 100 samples) → new (60 ms, 60 samples)

BEFORE  AFTER       CHANGE  FUNCTION
   new  50.0%  +50.0 ±12.8  paste ([kernel])
 50.0%  16.7%  -33.3 ±14.9  spin (busy)
 30.0%   gone  -30.0 ±10.1  copy ([kernel])
1 function changed by no more than chance; --all shows them
`
	if diff := cmp.Diff(want, diffText(t, diffOf(shares(), renamed()), DiffOptions{TableOptions: TableOptions{Top: 10, Width: 80}})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	const total = `
BEFORE  AFTER       CHANGE  FUNCTION WITH ITS CALLEES
   new  50.0%  +50.0 ±12.8  paste ([kernel])
`
	text := diffText(t, diffOf(shares(), renamed()), DiffOptions{TableOptions: TableOptions{Top: 1, Width: 80}, Total: true})
	if !strings.Contains(text, total) || !strings.Contains(text, "\nand 3 more functions; -o sets how many are shown\n3 functions changed") {
		t.Errorf("by total:\n%s", text)
	}
}

func TestADifferenceFitsTheTerminal(t *testing.T) {
	d := diffOf(forest(71, 300), forest(72, 300))
	d.Names = [2]string{"/home/somebody/measurements/before.data", "/home/somebody/measurements/after.data"}
	for _, width := range []int{60, 80, 132} {
		for line := range strings.Lines(diffText(t, d, DiffOptions{TableOptions: TableOptions{Width: width}, All: true})) {
			if w := twwidth.Width(strings.TrimSuffix(line, "\n")); w > width {
				t.Errorf("line of %d columns on a terminal of %d: %s", w, width, line)
			}
		}
	}
}

func TestADifferenceOfHostileProfilesIsVisibleText(t *testing.T) {
	d := diffOf(hostile(), hostile())
	d.Names = [2]string{evil, evil}
	checkVisible(t, diffText(t, d, DiffOptions{All: true}), "\n")
	for _, form := range DiffForms() {
		text := diffFile(t, d, form)
		checkVisible(t, text, "\n")
		if form == ".svg" && xml.Unmarshal([]byte(text), new(struct{})) != nil {
			t.Errorf("the picture is no XML: %.200s", text)
		}
	}
}

func TestADifferenceFromNothingIsAnError(t *testing.T) {
	empty := shares()
	empty.Rows = nil
	err := WriteDiff(new(bytes.Buffer), diffOf(empty, shares()), DiffOptions{})
	if err == nil || err.Error() != "old: no samples of OnCPUTime" {
		t.Errorf("error %v", err)
	}
}

// diffFile returns the text of a difference in a form.
func diffFile(t *testing.T, d *diff.Diff, form string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "diff"+form)
	if err := CheckDiffPath(path); err != nil {
		t.Fatal(err)
	}
	if err := WriteDiffFile(path, d, DiffOptions{}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheFlameGraphOfADifferenceHasTheWidthsAfterAndTheColorsOfChanges(t *testing.T) {
	type box struct {
		Title string `xml:"title"`
		Rect  struct {
			Width float64 `xml:"width,attr"`
			Fill  string  `xml:"fill,attr"`
		} `xml:"rect"`
	}
	var picture struct {
		Boxes []box    `xml:"g"`
		Texts []string `xml:"text"`
	}
	if err := xml.Unmarshal([]byte(diffFile(t, diffOf(shares(), renamed()), ".svg")), &picture); err != nil {
		t.Fatal(err)
	}
	const gray, red, blue = 230, 4, 212
	want := map[string]struct {
		share float64
		hue   int
	}{"main": {1, gray}, "paste": {0.5, red}, "spin": {8. / 60, blue}, "read": {0.5, red}}
	for _, b := range picture.Boxes {
		name, _, _ := strings.Cut(b.Title, "\n")
		w, known := want[name]
		if strings.Contains(b.Title, "\n2 ms") {
			continue // spin when retry calls it
		}
		if known && (math.Abs((b.Rect.Width+0.5)/(svgWidth-2*svgMargin)-w.share) > 0.001 || !strings.HasPrefix(b.Rect.Fill, fmt.Sprintf("hsl(%d,", w.hue))) {
			t.Errorf("%q is %.1f wide in %s, want %.3f in hue %d", b.Title, b.Rect.Width, b.Rect.Fill, w.share, w.hue)
		}
		delete(want, name)
		if name == "copy" {
			t.Errorf("copy is gone and drawn: %+v", b)
		}
	}
	if len(want) > 0 {
		t.Errorf("not drawn: %v", want)
	}
	if !slices.Contains(picture.Texts, "Not drawn: stacks that are gone, which were 30% before.") {
		t.Errorf("the picture does not say what is gone: %q", picture.Texts)
	}
}

func TestTheJSONOfADifferenceHasAllFunctions(t *testing.T) {
	var got jsonDiff
	if err := json.Unmarshal([]byte(diffFile(t, diffOf(shares(), renamed()), ".json")), &got); err != nil {
		t.Fatal(err)
	}
	names := each(got.Functions, func(f jsonChange) string {
		return fmt.Sprintf("%s (%s) %d %d %t", f.Name, f.Object, f.Before, f.After, f.Chance)
	})
	want := []string{"paste ([kernel]) 0 30 false", "spin (busy) 50 10 false", "copy ([kernel]) 30 0 false", "main (busy) 20 20 true"}
	if diff := cmp.Diff(want, names); diff != "" || got.Before.Count != 100 || got.After.Samples != 60 {
		t.Errorf("%+v, %+v (-want +got):\n%s", got.Before, got.After, diff)
	}
}

// TestPeerDifffoldedPlHasTheSameStacks compares with difffolded.pl of the FlameGraph checkout that
// FLAMEGRAPH_DIR names.
func TestPeerDifffoldedPlHasTheSameStacks(t *testing.T) {
	dir := os.Getenv("FLAMEGRAPH_DIR")
	if dir == "" {
		t.Skip("FLAMEGRAPH_DIR names no checkout of FlameGraph")
	}
	before, after := forest(73, 300), forest(73, 300)
	for i := range after.Rows {
		after.Rows[i].Values[0] = uint64(i*i) % 47
	}
	var paths []string
	for i, p := range []*profile.Profile{before, after} {
		path := filepath.Join(t.TempDir(), fmt.Sprintf("%d.folded", i))
		if err := WriteFile(path, p, FileOptions{}); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	text, err := exec.Command("perl", filepath.Join(dir, "difffolded.pl"), "-n", paths[0], paths[1]).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(text), "\n")
	got := strings.Split(diffFile(t, diffOf(before, after), ".folded"), "\n")
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-difffolded.pl +ringtap):\n%.3000s", diff)
	}
}
