package output

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// Keys that WebDriver has no letter for ("Keyboard actions").
const (
	keyEnter = "\ue007"
	keyEsc   = "\ue00c"
	keyLeft  = "\ue012"
	keyUp    = "\ue013"
	keyRight = "\ue014"
	keyDown  = "\ue015"
)

func TestPeerPageZooms(t *testing.T) {
	p := forest(41, 400)
	b := openBrowser(t, 1300, 900)
	openPage(t, b, p)
	lines := truth(stackLines(p, 0, false))
	var node struct {
		Name  string
		Path  []string
		X, Y  float64
		Index int
	}
	b.run(`const at = canvas.getBoundingClientRect();
		const i = model.rows[4].reduce((a, c) => model.total[c] > model.total[a] ? c : a);
		const box = graph.box(i);
		return {name: model.name(i), path: model.path(i).slice(1).map((n) => model.name(n)), index: i,
			x: at.left + (box.left + box.right) / 2, y: at.top + box.top + rowHeight / 2}`, &node)
	b.point(node.X, node.Y, false)
	b.wait("!element('tip').hidden")
	want := lines.below(node.Path)
	tip := b.text("tip")
	if !strings.Contains(tip, node.Name) || !strings.Contains(tip, fmt.Sprintf("%d samples", want)) || !strings.Contains(tip, share(want, total(p, 0))) {
		t.Errorf("the tooltip of %q says %q, want %d samples, %s", node.Path, tip, want, share(want, total(p, 0)))
	}
	b.point(node.X, node.Y, true)
	b.wait("graph.from === model.start[graph.focus] && graph.to === graph.from + model.total[graph.focus]")
	var crumbs []string
	b.run("return [...document.querySelectorAll('#crumbs button')].map((c) => c.textContent)", &crumbs)
	if got := strings.Join(crumbs, ";"); got != "all;"+strings.Join(node.Path, ";") {
		t.Errorf("breadcrumbs are %s, want the way to %s", got, node.Path)
	}
	var box struct{ Left, Right, Width float64 }
	b.run("return {...graph.box(arguments[0]), width: graph.width}", &box, node.Index)
	if math.Abs(box.Left) > 0.5 || math.Abs(box.Right-box.Width) > 0.5 {
		t.Errorf("zoomed to, the frame reaches from %.1f to %.1f of %.1f", box.Left, box.Right, box.Width)
	}
	b.picture("zoomed")

	b.click("#crumbs button:nth-child(2)")
	b.wait("model.depth[graph.focus] === 1")
	b.click("#reset")
	b.wait("graph.focus === 0 && graph.to === model.total[0]")
}

func TestPeerPageSearchTellsTheTrueShare(t *testing.T) {
	p := forest(42, 400)
	b := openBrowser(t, 1300, 900)
	openPage(t, b, p)
	lines := truth(stackLines(p, 0, false))
	name := p.Frames[17].Name
	for _, tt := range []struct {
		typed string
		test  func(string) bool
	}{
		{"FUNCTION1", func(s string) bool { return strings.Contains(strings.ToLower(s), "function1") }},
		{"/^pkg[3-5]::.*[02468]$/", regexp.MustCompile(`^pkg[3-5]::.*[02468]$`).MatchString},
		{`"` + name + `"`, func(s string) bool { return s == name }},
		{"[unknown]", func(s string) bool { return strings.Contains(s, "[unknown]") }},
		{"worker", func(s string) bool { return strings.Contains(s, "worker") }},
		{"no such name", func(string) bool { return false }},
	} {
		b.key(keyEsc + "/" + tt.typed)
		want := share(lines.matching(tt.test), total(p, 0)) + " matched"
		if got := b.text("matched"); got != want {
			t.Errorf("search for %s: %s, want %s", tt.typed, got, want)
		}
	}
	b.key(keyEsc + "/" + "/(/")
	var invalid bool
	b.run("return element('search').hasAttribute('aria-invalid') && element('matched').textContent !== ''", &invalid)
	if !invalid {
		t.Error("a regular expression that is none is not marked")
	}
	b.key(keyEsc + "/" + "function1")
	b.click("#reset")
	var clean bool
	b.run("return element('search').value === '' && element('matched').textContent === '' && graph.matched === null", &clean)
	if !clean {
		t.Error("reset leaves the search")
	}
}

func TestPeerPageTableOfFunctionsIsTrue(t *testing.T) {
	p := forest(43, 300)
	b := openBrowser(t, 1300, 900)
	openPage(t, b, p)
	lines := truth(stackLines(p, 0, false))
	var rows []struct {
		Name        string
		Self, Total uint64
	}
	b.run("return model.functions.map((f) => ({name: f.level.name, self: f.self, total: f.total}))", &rows)
	names := map[string]bool{}
	for _, l := range lines {
		for _, f := range l.Frames[1:] {
			if f != truncatedName {
				names[plain(f)] = true
			}
		}
	}
	if len(rows) != len(names) {
		t.Errorf("%d functions, want %d", len(rows), len(names))
	}
	for _, row := range rows {
		is := func(s string) bool { return s == row.Name }
		if want := lines.matching(is); row.Total != want {
			t.Errorf("%s: total %d, want %d", row.Name, row.Total, want)
		}
		if want := lines.sum(func(l stackLine) bool { return is(plain(l.Frames[len(l.Frames)-1])) }); row.Self != want {
			t.Errorf("%s: self %d, want %d", row.Name, row.Self, want)
		}
	}

	b.click("#by-total")
	var first, order string
	b.run("return element('functions').rows[0].cells[2].textContent", &first)
	b.run("return element('by-total').parentElement.getAttribute('aria-sort')", &order)
	for name := range names {
		if lines.matching(func(s string) bool { return s == name }) > lines.matching(func(s string) bool { return s == first }) {
			t.Fatalf("sorted by total, %s comes first, but %s has more", first, name)
		}
	}
	if order != "descending" {
		t.Errorf("aria-sort is %q", order)
	}
	b.click("#functions tr:first-child button")
	want := share(lines.matching(func(s string) bool { return s == first }), total(p, 0)) + " matched"
	if got := b.text("matched"); got != want {
		t.Errorf("a click on %s: %s, want %s", first, got, want)
	}
	var marked int
	b.run("return document.querySelectorAll('#functions tr.matched').length", &marked)
	if marked != 1 {
		t.Errorf("%d rows are marked", marked)
	}
	b.picture("table")
}

func TestPeerPageWorksByKeyboard(t *testing.T) {
	p := forest(44, 300)
	b := openBrowser(t, 1300, 900)
	openPage(t, b, p)
	selected := func() (i int) {
		b.run("return graph.selected", &i)
		return i
	}
	expect := func(keys, what, expression string) {
		t.Helper()
		before := selected()
		b.key(keys)
		var holds bool
		b.run("const before = arguments[0], now = graph.selected; return Boolean("+expression+")", &holds, before)
		if !holds {
			t.Errorf("%s: selected %d, before %d", what, selected(), before)
		}
	}
	b.run("canvas.focus()", nil)
	expect(keyUp, "the first arrow selects what is zoomed to", "now === 0")
	expect(keyUp, "up in a flame graph goes to a child", "model.parent[now] === before")
	expect(keyUp+keyUp, "up twice", "model.parent[model.parent[now]] === before")
	expect(keyDown, "down goes to the parent", "model.parent[before] === now")
	expect(keyRight, "right goes to the next sibling", "now === before || model.parent[now] === model.parent[before] && now > before")
	expect(keyLeft, "left goes to the one before", "now === before || model.parent[now] === model.parent[before] && now < before")
	expect(keyEnter, "Enter zooms", "graph.focus === now")
	var told bool
	b.run("return element('status').textContent.startsWith(model.name(graph.focus))", &told)
	if !told {
		t.Errorf("the status says %q", b.text("status"))
	}
	expect(keyEsc, "Escape zooms out", "graph.focus === 0")
	expect("f", "f turns the graph over", "!graph.flame && graph.top(0) === 0")
	expect(keyDown, "down in an icicle goes to a child", "model.parent[now] === before")
	expect("?", "? opens the help", "element('keys').open")
	expect(keyEsc, "Escape closes the help", "!element('keys').open")
	expect("/", "/ goes to the search", "document.activeElement === element('search')")
	expect("f?", "letters are typed there", "element('search').value === 'f?' && !graph.flame")
	expect(keyEsc, "Escape clears the search", "element('search').value === '' && document.activeElement === canvas")
}

func TestPeerPageSwitchesMetricAndTheme(t *testing.T) {
	p := forest(45, 300)
	b := openBrowser(t, 1300, 900)
	openPage(t, b, p)
	b.run(`element("metric").value = 1; element("metric").dispatchEvent(new Event("change"))`, nil)
	if got, want := b.text("total"), fmt.Sprint(total(p, 1)); got != want {
		t.Errorf("total of the second metric is %s, want %s", got, want)
	}
	lines := truth(stackLines(p, 1, false))
	b.key("/pkg3")
	want := share(lines.matching(func(s string) bool { return strings.Contains(s, "pkg3") }), total(p, 1)) + " matched"
	if got := b.text("matched"); got != want {
		t.Errorf("search in the second metric: %s, want %s", got, want)
	}

	background := func() (s string) {
		b.run("return getComputedStyle(document.body).backgroundColor", &s)
		return s
	}
	b.size(1300, 900, false)
	b.wait("document.documentElement.dataset.theme === 'light'")
	light := background()
	b.click("#theme")
	if dark := background(); dark == light || b.text("theme") != "Light" {
		t.Errorf("the switch leaves %s", dark)
	}
	b.click("#theme")
	b.size(1300, 900, true)
	b.wait("document.documentElement.dataset.theme === 'dark'")
	b.click("#reset")
	b.wait("document.fonts.ready")
	b.picture("dark")
	b.size(400, 800, true)
	b.wait("graph.width < 400 && document.documentElement.scrollWidth <= 400")
	b.picture("narrow-dark")
}

// TestPeerPageTextIsReadable computes the contrast of every colour of a box
// with its text (WCAG 2, contrast ratio).
func TestPeerPageTextIsReadable(t *testing.T) {
	b := openBrowser(t, 1300, 900)
	openPage(t, b, forest(46, 300))
	var worst map[string]float64
	b.run(`const c = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
		const luminance = (colour) => {
			c.fillStyle = colour;
			c.fillRect(0, 0, 1, 1);
			const [r, g, b] = [...c.getImageData(0, 0, 1, 1).data].map((v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
			return 0.2126 * r + 0.7152 * g + 0.0722 * b;
		};
		const contrast = (a, b) => {
			const [x, y] = [luminance(a), luminance(b)].sort();
			return (y + 0.05) / (x + 0.05);
		};
		const worst = {};
		for (const [name, inks] of Object.entries(ink)) {
			const fills = palette(model, name === "dark");
			worst[name + " frame"] = Math.min(...fills.map((f) => contrast(f.plain, inks.text)));
			worst[name + " beside a match"] = Math.min(...fills.map((f) => contrast(f.beside, inks.faint)));
			worst[name + " match"] = contrast(inks.matched, inks.text);
		}
		return worst`, &worst)
	if len(worst) != 6 {
		t.Fatalf("contrasts %v", worst)
	}
	for what, ratio := range worst {
		if ratio < 4.5 {
			t.Errorf("%s: contrast %.2f, want 4.5", what, ratio)
		}
	}
}

func TestPeerPageOfHostileTextRunsNothing(t *testing.T) {
	b := openBrowser(t, 1300, 900)
	openPage(t, b, hostile()) // a dialog would fail every command that follows
	var scripts int
	b.run("return document.scripts.length", &scripts)
	if scripts != 2 {
		t.Errorf("the page has %d scripts, want its own 2", scripts)
	}
	var names []string
	b.run("return model.levels.map((l) => l.name)", &names)
	shown := false
	for _, name := range names {
		shown = shown || strings.Contains(name, "</script><script>alert(1)</script>")
	}
	if !shown {
		t.Error("the names are not what they were")
	}
	b.picture("hostile")
}

func TestPeerPageOfNothingSaysSo(t *testing.T) {
	p := sample()
	p.Rows = nil
	b := openBrowser(t, 1300, 900)
	openPage(t, b, p)
	b.run("canvas.focus()", nil)
	b.key(keyUp + keyUp + keyRight + keyEnter + keyEsc + "f/x" + keyEsc)
	b.click("#reset")
	b.run("graph.draw()", nil)
	if got := b.text("total"); got != "0 samples, 0 ns" {
		t.Errorf("total is %q", got)
	}
}

// TestPeerPageOfAHundredThousandFrames logs how long a browser takes. What it
// checks is the work: a drawing paints no more boxes than can be seen.
func TestPeerPageOfAHundredThousandFrames(t *testing.T) {
	p := forest(47, 15000)
	nodes := len(grow(p, false).nodes)
	if nodes < 100_000 {
		t.Fatalf("the profile has %d frames only", nodes)
	}
	b := openBrowser(t, 1300, 900)
	began := time.Now()
	openPage(t, b, p)
	var measured struct {
		Load, Draw, Worst, Select, Search float64
		Boxes, Rows, Width                int
	}
	opened := time.Since(began)
	b.run(`const time = (f) => { const t = performance.now(); f(); return performance.now() - t; };
		const load = performance.getEntriesByType("navigation")[0].loadEventEnd;
		const draws = Array.from({length: 30}, () => time(() => graph.draw())).sort((a, b) => a - b);
		let boxes = 0;
		const fillRect = graph.context.fillRect;
		graph.context.fillRect = function (...box) { boxes++; fillRect.apply(this, box); };
		graph.draw();
		delete graph.context.fillRect;
		return {load, draw: draws[15], worst: draws[29], boxes, rows: Math.ceil(graph.seen / rowHeight) + 1, width: Math.ceil(graph.width),
			select: time(() => model.select(0)), search: time(() => { search("function12"); graph.draw(); })}`, &measured)
	if most := 2 * measured.Width * measured.Rows; measured.Boxes == 0 || measured.Boxes > most {
		t.Errorf("one drawing paints %d boxes, want at most two a pixel: %d", measured.Boxes, most)
	}
	// How long it takes from one picture of a zoom to the next, painting and all.
	var pictures []float64
	b.call("POST", "/execute/async", map[string]any{"args": []any{}, "script": `const done = arguments[0], times = [];
		search("");
		let last = performance.now();
		const draw = graph.draw;
		graph.draw = function () {
			draw.call(this);
			const now = performance.now();
			times.push(now - last);
			last = now;
		};
		zoom(model.rows[3].reduce((a, c) => model.total[c] > model.total[a] ? c : a));
		setTimeout(() => { delete graph.draw; done(times); }, 600);`}, &pictures)
	slices.Sort(pictures)
	if len(pictures) == 0 {
		t.Fatal("a zoom shows no picture")
	}
	t.Logf("%d frames: written and opened in %v, page loaded after %.0f ms; a drawing %.1f ms (slowest %.1f) for %d boxes; search %.1f ms, metric %.1f ms; zoom: %d pictures, one in %.0f ms",
		nodes, opened.Round(time.Millisecond), measured.Load, measured.Draw, measured.Worst, measured.Boxes, measured.Search, measured.Select, len(pictures), pictures[len(pictures)/2])
	b.picture("large")
}
