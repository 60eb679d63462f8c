package calls_test

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/calls"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// The program's chains are thousands of calls deep, and say so by their names.
func TestLiveDeepStacksOfHitsAreWholeAndTrue(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, test := range []struct {
		way    string
		micros int
		share  uint64 // of a hundred hits, so many have whole stacks at least
	}{
		{"main", 2000, 70}, // those of the first second have not
		{"hurry", 2000, 70},
		{"threads", 8000, 70},
		{"hurry", 100, 10}, // too fast to read the stacks of all
	} {
		t.Run(fmt.Sprint(test.way, " ", test.micros), func(t *testing.T) {
			program := livetest.Deep(t, "-fno-omit-frame-pointer")
			testlimit.Enough(t, 4000, func(ms int) bool {
				spec := &probe.Spec{Place: probe.User, Kind: 'p', Probe: program + ":nap", Whole: true}
				set, err := probe.Open(spec, probe.Options{Target: perfevent.System(), Calls: probe.AllCalls, UserStacks: true})
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := set.Close(); err != nil {
						t.Error(err)
					}
				}()
				collector := calls.NewCalls("nap", set.Sources, stack.Stacks{User: true, Unwind: stack.Auto, Entry: set.AtEntry}.Deep())
				p, account := livetest.Run(t, exec.Command(program, test.way, strconv.Itoa(ms), strconv.Itoa(test.micros)), nil, collector, 0)
				whole, cut := livetest.DeepStacks(t, p, 1)
				t.Logf("of %d calls %d have a whole stack, %d one that is cut short; %d are joined", account.Received, whole, cut, account.Joined)
				return testlimit.Emulated() || whole*100 >= (whole+cut)*test.share
			})
		})
	}
}
