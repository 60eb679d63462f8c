package measure

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/histogram"
	"github.com/ringtap/ringtap/internal/run/capture"
	"github.com/ringtap/ringtap/internal/stack"
)

// measured measures a capture.
func measured(t *testing.T, source *capture.Source, o Options) ([]*Window, Account) {
	t.Helper()
	var windows []*Window
	o.Sources, o.Scale, o.Functions = source.Sources(t), histogram.Log2(), []string{"work"}
	o.Emit = func(w *Window) error { windows = append(windows, w); return nil }
	m, err := newMeterOf(o)
	if err != nil {
		t.Fatal(err)
	}
	account, err := m.run(context.Background(), source)
	if err != nil {
		t.Fatal(err)
	}
	return windows, account
}

// The program calls work 40 times.
func TestACaptureShowsTheTimesOfCalls(t *testing.T) {
	windows, account := measured(t, capture.Open(t, "calls"), Options{Stacks: stack.Stacks{User: true, Unwind: stack.Auto, Entry: true}})
	if len(windows) != 1 || len(windows[0].Rows) != 1 {
		t.Fatalf("%d windows: %+v", len(windows), windows)
	}
	row := windows[0].Rows[0]
	if row.Histogram.Count() != 40 || row.Histogram.Total().Sign() <= 0 || row.Cut {
		t.Errorf("the row is %+v, want 40 calls", row)
	}
	var names []string
	for _, frame := range row.Stack {
		name, _, _ := strings.Cut(frame, "+")
		names = append(names, name)
	}
	if diff := cmp.Diff([]string{"work", "calls", "begin", "_start"}, names); diff != "" {
		t.Errorf("the stack (-want +got):\n%s", diff)
	}
	all := account.All()
	if all.Received != 2*40 || all.Received+all.Lost != all.Counted || account.Values != 40 || account.Before+account.Open+account.Left+account.Broken != 0 {
		t.Errorf("the account is %+v", account)
	}
}

// It is called with 0 to 39.
func TestACaptureShowsValues(t *testing.T) {
	windows, account := measured(t, capture.Open(t, "lines"), Options{Value: "arg1"})
	h := windows[0].Rows[0].Histogram
	if h.Count() != 40 || h.Total().Int64() != 39*40/2 || account.Values != 40 {
		t.Errorf("%d values add up to %v: want 40, and 780", h.Count(), h.Total())
	}
	var counts []uint64
	for _, b := range h.Buckets() {
		counts = append(counts, b.Count)
	}
	if diff := cmp.Diff([]uint64{1, 1, 2, 4, 8, 16, 8}, counts); diff != "" {
		t.Errorf("the buckets of 0, 1, 2-3, 4-7 and so on (-want +got):\n%s", diff)
	}
}

func TestAFieldThatIsNotThereIsAnError(t *testing.T) {
	source := capture.Open(t, "lines")
	_, err := newMeterOf(Options{Sources: source.Sources(t), Value: "arg9"})
	var field *FieldError
	if !errors.As(err, &field) || !strings.HasSuffix(err.Error(), "no field arg9: there are __probe_ip, arg1") {
		t.Errorf("the error is %v", err)
	}
}
