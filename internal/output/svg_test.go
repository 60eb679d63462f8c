package output

import (
	"bytes"
	"encoding/xml"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/profile"
)

func svgText(t *testing.T, p *profile.Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := writeSVG(&b, p, FileOptions{Inlines: true}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSVG(t *testing.T) {
	golden(t, "sample.svg", svgText(t, sample()))
}

// svgBox is a frame of the picture as XML has it.
type svgBox struct {
	Title string `xml:"title"`
	Rect  struct {
		X     float64 `xml:"x,attr"`
		Y     float64 `xml:"y,attr"`
		Width float64 `xml:"width,attr"`
	} `xml:"rect"`
}

func svgBoxes(t *testing.T, text []byte) []svgBox {
	t.Helper()
	var picture struct {
		Boxes []svgBox `xml:"g"`
	}
	if err := xml.Unmarshal(text, &picture); err != nil {
		t.Fatal(err)
	}
	return picture.Boxes
}

func TestSVGWidthsAreTheShares(t *testing.T) {
	p := sample()
	lines := truth(stackLines(p, 0, true))
	whole := float64(svgWidth - 2*svgMargin)
	for _, box := range svgBoxes(t, svgText(t, p)) {
		name, _, _ := strings.Cut(box.Title, "\n")
		if name != "worker" && name != "kworker/0:1" {
			continue
		}
		want := float64(lines.below([]string{name})) / float64(total(p, 0))
		if got := (box.Rect.Width + 0.5) / whole; got < want-0.001 || got > want+0.001 {
			t.Errorf("%s is %.4f of the width, want %.4f", name, got, want)
		}
	}
}

func TestSVGFramesLieOnTheirCallers(t *testing.T) {
	boxes := svgBoxes(t, svgText(t, forest(51, 300)))
	for i, box := range boxes[1:] {
		on := false
		for _, below := range boxes[:i+1] {
			on = on || below.Rect.Y == box.Rect.Y+svgRow && below.Rect.X <= box.Rect.X+0.11 &&
				below.Rect.X+below.Rect.Width+0.61 >= box.Rect.X+box.Rect.Width
		}
		if !on {
			t.Fatalf("%q at %.1f,%.0f lies on nothing", box.Title, box.Rect.X, box.Rect.Y)
		}
	}
}

func TestSVGLeavesOutWhatIsTooNarrowAndSaysSo(t *testing.T) {
	p := forest(52, 3000)
	text := svgText(t, p)
	tree := grow(p, true)
	totals, sum := tree.totals(0)
	if sum != total(p, 0) {
		t.Fatalf("tree sums to %d, want %d", sum, total(p, 0))
	}
	drawn, left := 1, 0
	for _, v := range totals {
		switch {
		case v > 0 && v*1000 >= sum:
			drawn++
		case v > 0:
			left++
		}
	}
	if got := len(svgBoxes(t, text)); got != drawn {
		t.Errorf("%d frames drawn, want %d", got, drawn)
	}
	if !strings.Contains(string(text), ">"+strconv.Itoa(left)+" frames of less than 0.1% or above level 150 not drawn<") {
		t.Errorf("the picture does not say that %d frames are left out", left)
	}
}

func TestSVGLeavesOutWhatIsTooDeep(t *testing.T) {
	p := sample()
	for range 1000 {
		p.Stacks[0].Frames = append(p.Stacks[0].Frames, 2)
	}
	text := svgText(t, p)
	deepest := 0.0
	boxes := svgBoxes(t, text)
	for _, box := range boxes {
		deepest = max(deepest, (boxes[0].Rect.Y-box.Rect.Y)/svgRow)
	}
	if deepest != svgDeepest {
		t.Errorf("%.0f levels drawn, want %d", deepest, svgDeepest)
	}
	if !strings.Contains(string(text), " above level 150 not drawn<") {
		t.Error("the picture does not say so")
	}
}

func TestSVGOfHostileTextIsXMLWithoutAScript(t *testing.T) {
	text := svgText(t, hostile())
	checkVisible(t, string(text), "\n")
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok {
			switch start.Name.Local {
			case "svg", "title", "style", "rect", "text", "g":
			default:
				t.Fatalf("the picture holds <%s>", start.Name.Local)
			}
		}
	}
}

func TestClipNameDropsThePackagePathFirst(t *testing.T) {
	const name = "github.com/ringtap/ringtap/internal/output.ReadFolded"
	for _, tt := range []struct {
		name    string
		columns int
		want    string
	}{
		{name, 60, name},
		{name, 20, "output.ReadFolded"},
		{name, 10, "output.Re…"},
		{name, 2, ""},
		{"java/lang/String:.hashCode", 20, "String:.hashCode"},
		{"example.com/a/b.(*T[example.com/c/d.E]).Method", 30, "b.(*T[example.com/c/d.E]).Met…"},
		{"operator/(Big const&, Big const&)", 20, "operator/(Big const…"},
		{"kworker/u8:2-events", 10, "kworker/u…"},
		{"宽宽宽宽", 5, "宽宽…"},
	} {
		if got := clipName(tt.name, tt.columns); got != tt.want {
			t.Errorf("clipName(%q, %d) = %q, want %q", tt.name, tt.columns, got, tt.want)
		}
	}
}

func TestSVGOfNothingIsAPicture(t *testing.T) {
	p := sample()
	p.Rows = nil
	if boxes := svgBoxes(t, svgText(t, p)); len(boxes) != 1 {
		t.Errorf("%d frames, want the root alone", len(boxes))
	}
}

func TestPeerSVGOpensInABrowserAsAPicture(t *testing.T) {
	b := openBrowser(t, 1220, 900)
	path := t.TempDir() + "/flame.svg"
	if err := WriteFile(path, forest(53, 300), FileOptions{}); err != nil {
		t.Fatal(err)
	}
	b.open(path)
	var root struct {
		Name  string
		Width float64
		Texts int
	}
	b.run(`return {name: document.documentElement.localName, width: document.documentElement.getBoundingClientRect().width,
		texts: [...document.querySelectorAll("g")].filter((g) => {
			const text = g.querySelector("text");
			return text && text.getBBox().width > g.querySelector("rect").getBBox().width;
		}).length}`, &root)
	if root.Name != "svg" || root.Width != svgWidth {
		t.Errorf("the browser sees <%s> %v wide", root.Name, root.Width)
	}
	if root.Texts > 0 {
		t.Errorf("%d texts are wider than their frame", root.Texts)
	}
	b.picture("forest-svg")
}
