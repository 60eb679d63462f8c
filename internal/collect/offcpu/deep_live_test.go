package offcpu_test

import (
	"fmt"
	"os/exec"
	"strconv"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// The program's chains are thousands of calls deep, and say so by their names.
func TestLiveDeepStacksOfWaitsAreWholeAndTrue(t *testing.T) {
	const without, with = "-fomit-frame-pointer", "-fno-omit-frame-pointer"
	for _, test := range []struct {
		way    string
		micros int
		flag   string
		whole  bool
		share  uint64 // of a hundred waits, so many have whole stacks at least
	}{
		{"main", 10000, without, false, 90},
		{"main", 10000, with, true, 50}, // what else runs on the host says how many are read
		{"hurry", 10000, without, false, 90},
		{"threads", 20000, with, false, 90},
		{"signal", 10000, without, false, 90},
		{"coroutine", 10000, without, false, 90},
		{"die", 10000, without, true, 0},  // much of a child's life is over before its stacks are known to be deep
		{"hurry", 100, without, false, 0}, // too short to read most
		{"hurry", 1500, with, true, 0},
	} {
		t.Run(fmt.Sprint(test.way, " ", test.micros, test.flag, " whole host ", test.whole), func(t *testing.T) {
			on := perfevent.Started
			if test.whole {
				on = nil
			}
			program := livetest.Deep(t, test.flag)
			testlimit.Enough(t, 3000, func(ms int) bool {
				p, account := livetest.Run(t, exec.Command(program, test.way, strconv.Itoa(ms), strconv.Itoa(test.micros)), on, collector(t, test.whole), 0)
				whole, cut := livetest.DeepStacks(t, p, 1)
				t.Logf("%d waits have a whole stack, %d one that is cut short; of all %d records %d are joined", whole, cut, account.Received, account.Joined)
				return testlimit.Emulated() || whole > 0 && whole*100 >= (whole+cut)*test.share
			})
		})
	}
}
