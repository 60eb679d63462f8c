package ruby

import (
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/testkit/interptest"
)

func TestLiveThreadsOfOtherRactorsHaveTheirChains(t *testing.T) {
	interptest.OfEach(t, "ruby", func(t *testing.T, path string) {
		if strings.HasPrefix(interptest.Release(path), "ruby2") {
			return // there are no ractors
		}
		p := interptest.Start(t, path, "testdata/ractors.rb")
		truth := make(map[int][]string)
		for len(truth) < 3 {
			var thread struct {
				TID   int
				Chain interptest.Told
			}
			p.Tell(t, &thread)
			truth[thread.TID] = thread.Chain.Lines()
		}
		r := p.Attach(t, Detect)
		for tid, want := range truth {
			if got := standing(t, r, tid, len(want)); !slices.Equal(got, want) {
				t.Errorf("%s:\ngot  %q\nwant %q", r.Name(), got, want)
			}
		}
	})
}

// standing is the chain of a thread once it has so many calls: it may still be telling of them.
func standing(t *testing.T, r interp.Runtime, tid, want int) []string {
	t.Helper()
	w := r.Walker(nil)
	for range 20000 {
		if calls, end := w.Walk(make([]interp.Call, 0, 4096), &interp.Thread{TID: tid}); end == callchain.Complete && len(calls) == want {
			return interptest.Chain(t, r, calls)
		}
	}
	t.Errorf("thread %d never had %d calls", tid, want)
	return nil
}
