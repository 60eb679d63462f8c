package output

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/profile"
)

// tower is a profile with one stack of that many frames.
func tower(depth int) *profile.Profile {
	p := sample()
	p.Frames, p.Stacks = nil, []profile.Stack{{}}
	for i := range depth {
		p.Frames = append(p.Frames, profile.Frame{Object: 1, Name: fmt.Sprintf("call%d", i)})
		p.Stacks[0].Frames = append(p.Stacks[0].Frames, i)
	}
	p.Rows = []profile.Row{{User: 0, Kernel: profile.None, Values: []uint64{5}}}
	return p
}

// A browser lays a page out before its window has its size: a tab that is opened in the
// background has no size at all.
func TestPeerPageOfATallGraphShowsItsRoot(t *testing.T) {
	b := openBrowser(t, 1300, 500)
	openPage(t, b, tower(300))
	expect := func(when, gap string) {
		t.Helper()
		b.wait("graph.seen === graph.scroll.clientHeight && graph.below === graph.full - graph.seen - graph.scroll.scrollTop")
		var holds bool
		b.run("return graph.seen - graph.box(0).top - rowHeight === "+gap, &holds)
		if !holds {
			var at, seen float64
			b.run("return graph.box(0).top", &at)
			b.run("return graph.seen", &seen)
			t.Errorf("%s: the root is at %.0f of %.0f pixels, want it %s below the end", when, at, seen, gap)
		}
	}
	resize := func(height int) {
		b.size(1300, height, false)
		b.wait(fmt.Sprintf("window.innerHeight === %d", height))
	}
	expect("opened", "0")
	resize(900)
	expect("in a larger window", "0")
	resize(400)
	expect("in a smaller window", "0")
	resize(1000)
	expect("in the largest window", "0") // the page has followed, and does not move what is scrolled next
	b.picture("tall")
	b.run("graph.scroll.scrollTop -= 500", nil)
	expect("scrolled away", "-500")
	resize(800)
	expect("scrolled away, in a smaller window", "-500")
}

// The page and the terminal have one rule for what a wait is put down to.
func TestPeerPageRanksTheFunctionThatWaits(t *testing.T) {
	p := sample()
	p.Collector, p.Event = "off-cpu", "sched:sched_switch"
	p.Metrics = []profile.Metric{{Name: "OffCPUTime", Type: "delay", Unit: "nanoseconds", Scale: 1}}
	p.Objects = []profile.Object{{Path: "[kernel]", Kernel: true}, {Path: "/usr/bin/worker"}, {Path: "/usr/lib/libc.so.6"}}
	p.Frames = []profile.Frame{
		{Object: 1, Name: "main"}, {Object: 1, Name: "fetch"}, {Object: 1, Name: "store"}, {Object: 2, Name: "read"},
		{Object: 2, Name: "fsync"}, {Object: 0, Name: "schedule"}, {Object: 0, Name: "__schedule"},
	}
	p.Stacks = []profile.Stack{{Frames: []int{0, 1, 3}}, {Frames: []int{0, 2, 4}}, {Frames: []int{5, 6}}}
	p.Rows = []profile.Row{{User: 0, Kernel: 2, Values: []uint64{600}}, {User: 1, Kernel: 2, Values: []uint64{400}}}
	b := openBrowser(t, 1300, 900)
	openPage(t, b, p)
	var rows []string
	b.run("return [...element('functions').rows].slice(0, 3).map((r) => [...r.cells].map((c) => c.textContent).join(' '))", &rows)
	want := []string{"60.0% 60.0% fetch", "40.0% 40.0% store", "0.0% 100.0% "}
	for i, w := range want {
		if i >= len(rows) || !strings.HasPrefix(rows[i], w) {
			t.Errorf("the table begins with %q, want %q", rows, want)
			break
		}
	}
	b.picture("waits")
}
