package calls_test

import (
	"testing"

	"github.com/ringtap/ringtap/internal/collect/calls"
	"github.com/ringtap/ringtap/internal/engine/capture"
	"github.com/ringtap/ringtap/internal/profile/histogram"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
)

// The function is called 40 times, and calls no other.
func TestACaptureShowsTheCalls(t *testing.T) {
	source := capture.Open(t, "calls")
	c := calls.NewCalls("work", source.Sources(t), stack.Stacks{User: true, Unwind: stack.Auto, Entry: true})
	scale := histogram.Log2()
	c.Histogram = &scale
	_, result := livetest.Replay(t, source, c, 0)
	if len(result.Whole.Rows) != 1 || result.Whole.Rows[0].Histograms == nil {
		t.Fatalf("the rows are %+v", result.Whole.Rows)
	}
	h := result.Whole.Rows[0].Histograms[0]
	if h.Count() != 40 {
		t.Errorf("the histogram is %+v, want 40 calls", h)
	}
	stacks := livetest.ByStack(result.Whole)
	if work := stacks["_start;begin;calls;work"]; len(stacks) != 1 || work == nil || work[1] != 40 || work[0] != h.Total().Uint64() {
		t.Errorf("calls %v, want 40 that take %v ns", stacks, h.Total())
	}
	if a := c.Account(); a != (calls.CallAccount{}) {
		t.Errorf("calls are missing: %+v", a)
	}
}
