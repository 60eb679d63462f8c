package calls_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/collect/calls"
	"github.com/ringtap/ringtap/internal/engine/capture"
	"github.com/ringtap/ringtap/internal/profile/histogram"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
)

// The function is called with 0 to 39.
func TestACaptureShowsTheValuesOfAnArgument(t *testing.T) {
	source := capture.Open(t, "lines")
	hits := calls.Hits{Spec: "work", Sources: source.Sources(t), Stacks: stack.Stacks{User: true, Unwind: stack.Auto, Entry: true}}
	v, err := calls.NewValues(hits, "arg1", histogram.Log2())
	if err != nil {
		t.Fatal(err)
	}
	_, result := livetest.Replay(t, source, v, 0)
	rows := result.Whole.Rows
	if stacks := livetest.ByStack(result.Whole); len(rows) != 1 || len(stacks["_start;begin;calls;work"]) != 1 || rows[0].Values[0] != 40 || v.Unreadable != 0 {
		t.Fatalf("%v, %d without a value; want 40 values with one stack", stacks, v.Unreadable)
	}
	h := rows[0].Histograms[0]
	if h.Count() != 40 || h.Total().Int64() != 39*40/2 {
		t.Errorf("%d values add up to %v: want 40, and 780", h.Count(), h.Total())
	}
	var counts []uint64
	for _, b := range h.Buckets() {
		counts = append(counts, b.Count)
	}
	if diff := cmp.Diff([]uint64{1, 1, 2, 4, 8, 16, 8}, counts); diff != "" {
		t.Errorf("the buckets of 0, 1, 2-3, 4-7 and so on (-want +got):\n%s", diff)
	}
	if a := result.Accounts[0]; a.Received != 40 || a.Received+a.Lost != a.Counted {
		t.Errorf("the account is %+v", a)
	}
}

func TestAFieldThatIsNotThereIsAnError(t *testing.T) {
	source := capture.Open(t, "lines")
	_, err := calls.NewValues(calls.Hits{Sources: source.Sources(t)}, "arg9", histogram.Log2())
	var field *calls.FieldError
	if !errors.As(err, &field) || field.Reason != "no field arg9: there are __probe_ip, arg1" {
		t.Errorf("the error is %v", err)
	}
}
