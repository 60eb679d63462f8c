package offcpu_test

import (
	"testing"

	"github.com/ringtap/ringtap/internal/collect/offcpu"
	"github.com/ringtap/ringtap/internal/engine/capture"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
)

// The program waits 5 times for 20 ms.
func TestACaptureShowsTheWaits(t *testing.T) {
	source := capture.Open(t, "off-cpu")
	c, err := offcpu.New(offcpu.Options{Switch: source.Format(t, 0), Stacks: stack.Stacks{User: true, Unwind: stack.Auto},
		Host: source.Host(), Held: source.Processes()[0]})
	if err != nil {
		t.Fatal(err)
	}
	_, result := livetest.Replay(t, source, c, 0)
	stacks := livetest.ByStack(result.Whole)
	if wait := stacks["_start;begin;wait"]; wait == nil || wait[0] < 100e6 || wait[1] != 5 {
		t.Errorf("the waits are %v, want 5 that take 100 ms", stacks)
	}
	if a := result.Accounts[0]; a.Received != a.Counted || a.Lost != 0 {
		t.Errorf("%+v", a)
	}
}
