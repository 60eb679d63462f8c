package oncpu_test

import (
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/engine/capture"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/perfevent"
)

// The program is busy in one function.
func TestACaptureShowsWhereTheTimeWent(t *testing.T) {
	const interval = 50 * time.Millisecond
	for _, unwind := range []stack.Unwind{stack.Auto, stack.DWARF} {
		c := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: 499, Stacks: stack.Stacks{User: true, Kernel: true, Unwind: unwind}}
		intervals, result := livetest.Replay(t, capture.Open(t, "on-cpu"), c, interval)
		var sum, all uint64
		for i, p := range intervals {
			for _, values := range livetest.ByStack(p) {
				sum += values[0]
			}
			if i+1 < len(intervals) && p.Duration != interval {
				t.Errorf("interval %d lasts %v", i, p.Duration)
			}
		}
		stacks := livetest.ByStack(result.Whole)
		for _, values := range stacks {
			all += values[0]
		}
		a := result.Accounts[0]
		if sum != all || all+a.LeftOut != a.Received || a.Lost != 0 || a.Broken+a.Truncated != 0 {
			t.Errorf("%s: %d samples in %d intervals, %d in all; %+v", unwind, sum, len(intervals), all, a)
		}
		if busy := stacks["_start;begin;busy;spin"]; busy == nil || busy[0] < all*9/10 {
			t.Errorf("%s: nearly all samples should be in spin: %v", unwind, stacks)
		}
		if p := result.Whole.Processes; len(p) != 1 || p[0].Comm != "known" {
			t.Errorf("the processes are %+v", p)
		}
	}
}
