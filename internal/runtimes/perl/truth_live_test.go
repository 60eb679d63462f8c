package perl

import (
	"strconv"
	"testing"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/testkit/interptest"
)

// start starts the program with a seed, waits until it has told its chain, and attaches.
func start(t testing.TB, path string, seed int) (pid int, want []string, r interp.Runtime) {
	t.Helper()
	p := interptest.Start(t, path, "testdata/chain.pl", strconv.Itoa(seed))
	var told interptest.Told
	p.Tell(t, &told)
	p.WaitReading(t)
	return p.PID, told.Lines(), p.Attach(t, Detect)
}

func TestLiveAThreadThatStandsStillHasTheChainThatPerlItselfTells(t *testing.T) {
	interptest.OfEach(t, "perl", func(t *testing.T, path string) {
		for seed := range 20 {
			pid, want, r := start(t, path, seed)
			n := interptest.Compare(t, r, pid, want, nil)
			t.Logf("%s, seed %d: %d frames", r.Name(), seed, n)
		}
	})
}
