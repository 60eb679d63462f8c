package ruby

import (
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/testkit/interptest"
)

// start starts the program with a seed, waits until it has told its chains, and attaches.
func start(t testing.TB, path string, seed int) (pid int, truth map[int][]string, r interp.Runtime) {
	t.Helper()
	p := interptest.Start(t, path, "testdata/chains.rb", strconv.Itoa(seed))
	var told map[int]interptest.Told
	p.Tell(t, &told)
	truth = make(map[int][]string)
	for tid, chain := range told {
		truth[tid] = chain.Lines()
	}
	return p.PID, truth, p.Attach(t, Detect)
}

func TestLiveThreadsThatStandStillHaveTheChainsThatRubyItselfTells(t *testing.T) {
	interptest.OfEach(t, "ruby", func(t *testing.T, path string) {
		for seed := range 5 {
			_, truth, r := start(t, path, seed)
			// Since 3.4 Ruby shows its own methods as if they were of C.
			own := func(line string) bool { return r.(*ruby).qualified && strings.Contains(line, " <internal:") }
			n := 0
			for tid, want := range truth {
				n += interptest.Compare(t, r, tid, want, own)
			}
			t.Logf("%s, seed %d: %d threads, %d frames", r.Name(), seed, len(truth), n)
		}
	})
}
