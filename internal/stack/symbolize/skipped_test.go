package symbolize_test

import (
	"strings"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
	"github.com/ringtap/ringtap/internal/testkit/truth"
)

func TestSymbolsThatTakeTooMuchMemoryToUnpackAreLeftOutWithANote(t *testing.T) {
	path := truth.Named("c-O2-nofp-debugdata").Build(t).Path
	leaf := offsetOf(t, truth.Named("c-O2-nofp").Build(t).Path, "leaf") // the same code with its symbols
	for _, test := range []struct {
		memory int
		want   string // the frame's name
		notes  int
	}{
		{0, "leaf", 0}, {256 << 20, "leaf", 0}, {1 << 10, "", 1},
	} {
		s := symbolizer(t, symbolize.Options{Memory: test.memory})
		notes := 0
		for range 2 {
			p := s.Profile(set([]*stack.Image{fileImage(t, path)}, []callchain.Frame{{Object: 1, Offset: leaf + 4}}), nil)
			if got := p.Frames[0].Name; got != test.want && (test.want != "" || !p.Frames[0].Unnamed) {
				t.Errorf("%d bytes: the function is %q, want %q", test.memory, got, test.want)
			}
			for _, note := range p.Notes {
				if strings.Contains(note, "left out") {
					notes++
				}
			}
		}
		if notes != test.notes {
			t.Errorf("%d bytes: %d notes, want %d", test.memory, notes, test.notes)
		}
	}
}
