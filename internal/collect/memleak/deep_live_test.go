package memleak_test

import (
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/allocator"
	"github.com/ringtap/ringtap/internal/collect/memleak"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
	"github.com/ringtap/ringtap/perfevent"
)

// The program's chains are thousands of calls deep, and say so by their names.
func TestLiveMemoryThatDeepStacksKeepStandsByWholeAndTrueOnes(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, way := range []string{"main", "hurry"} {
		t.Run(way, func(t *testing.T) {
			if way != "main" {
				testlimit.Thorough(t)
			}
			program := livetest.Deep(t)
			testlimit.Enough(t, 4000, func(ms int) bool {
				found, err := allocator.Find(allocator.Where{Command: []string{program}})
				if err != nil {
					t.Fatal(err)
				}
				defer found.Close()
				attached, err := allocator.Attach(found, perfevent.System(), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := attached.Close(); err != nil {
						t.Error(err)
					}
				}()
				c := memleak.New(attached.Sources, stack.Stacks{User: true, Unwind: stack.Auto}.Deep(), memleak.Options{})
				defer c.Close()
				c.Ended = true
				p, account := livetest.Run(t, exec.Command(program, way, strconv.Itoa(ms), "2000"), perfevent.Started, c, 0)
				whole, cut := livetest.DeepStacks(t, p, 1)
				t.Logf("of %d records %d allocations have a whole stack, %d one that is cut short; %d are joined", account.Received, whole, cut, account.Joined)
				return testlimit.Emulated() || whole*10 >= (whole+cut)*7 // those of the first second have none
			})
		})
	}
}
