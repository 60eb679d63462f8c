package output

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/profile"
)

// openPage opens the page of p and fails the test, at its end, if the page
// said anything on the console or asked for anything but itself.
func openPage(t *testing.T, b *browser, p *profile.Profile) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.html")
	if err := WriteFile(path, p, FileOptions{}); err != nil {
		t.Fatal(err)
	}
	b.open(path)
	b.wait("document.readyState === 'complete' && graph.width > 0")
	t.Cleanup(func() {
		for _, message := range b.log("browser") {
			t.Errorf("console: %s", message)
		}
		requests := 0
		for _, message := range b.log("performance") {
			var event struct {
				Message struct {
					Method string
					Params struct {
						DocumentURL string // the browser has pages of its own
						Request     struct{ URL string }
					}
				}
			}
			if err := json.Unmarshal([]byte(message), &event); err != nil {
				t.Fatal(err)
			}
			if event.Message.Method != "Network.requestWillBeSent" || event.Message.Params.DocumentURL != "file://"+path {
				continue
			}
			requests++
			if url := event.Message.Params.Request.URL; url != "file://"+path && !strings.HasPrefix(url, "data:") {
				t.Errorf("the page asked for %s", url)
			}
		}
		if requests == 0 {
			t.Error("the log of requests does not even have the page")
		}
	})
}

// stackLine is a line of folded stacks.
type stackLine struct {
	Frames []string // root first
	Value  uint64
}

// stackLines returns the folded stacks of p.
func stackLines(p *profile.Profile, metric int, inlines bool) (all []stackLine) {
	f := fold(p, metric, inlines)
	for _, l := range f.lines {
		line := stackLine{Value: l.value}
		for _, text := range l.path {
			line.Frames = append(line.Frames, f.texts[text])
		}
		all = append(all, line)
	}
	return all
}

// truth answers from the folded lines what the page computes from its tree.
type truth []stackLine

// plain takes the marks of kinds off, which the page has as colours.
func plain(frame string) string {
	return strings.TrimSuffix(strings.TrimSuffix(frame, "_[k]"), "_[i]")
}

func (lines truth) sum(holds func(stackLine) bool) (sum uint64) {
	for _, l := range lines {
		if holds(l) {
			sum += l.Value
		}
	}
	return sum
}

func (lines truth) matching(test func(string) bool) uint64 {
	return lines.sum(func(l stackLine) bool {
		for _, f := range l.Frames {
			if test(plain(f)) {
				return true
			}
		}
		return false
	})
}

func (lines truth) below(path []string) uint64 {
	return lines.sum(func(l stackLine) bool {
		for i, name := range path {
			if i >= len(l.Frames) || plain(l.Frames[i]) != name {
				return false
			}
		}
		return true
	})
}

func share(part, whole uint64) string {
	return fmt.Sprintf("%.1f%%", 100*float64(part)/float64(whole))
}
