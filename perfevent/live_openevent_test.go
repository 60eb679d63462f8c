package perfevent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

func TestLiveFilterHoldsForThreadsAndChildrenToo(t *testing.T) {
	needRoot(t)
	event, calls := hitTracepoint(t), max(800, testlimit.Calls(4000))
	for _, whole := range []bool{false, true} {
		for _, ring := range []int{0, os.Getpagesize()} {
			target, children := System(), 3
			if !whole {
				children = inheritedChildren(t, children)
			}
			h := startHits(t, "hit", 2, 2, children, calls, 0)
			if !whole {
				target = Process(h.pid())
			}
			s := open(t, target, []Sampling{
				{Event: event, Period: 1, Raw: true, Filter: fmt.Sprintf("n < %d", calls/4), CountRejected: true},
				{Event: event, Period: 1, Raw: true},
			}, Options{RingBytes: ring})
			enable(t, s)
			called, _ := h.call()
			samples := make([]uint64, 2)
			done, cancel := context.WithCancel(context.Background())
			cancel()
			err := s.Read(done, func(rec Record) error {
				if sample, ok := rec.(*Sample); ok {
					samples[sample.Sampling]++
				}
				return nil
			})
			checkBooks(t, s)
			accounts, accountsErr := s.Accounts()
			if err := errors.Join(err, accountsErr); err != nil {
				t.Fatal(err)
			}
			if rest := accounts[0].Rejected; rest != called-called/4 || accounts[1].Rejected != 0 {
				t.Errorf("%s, ring %d: the filter keeps %d of %d calls out", target, ring, rest, called)
			}
			for i, want := range []uint64{called / 4, called} {
				if a := accounts[i]; !a.Exact || a.Counted != want || a.Received != samples[i] || a.Received+a.Lost != want || ring > 0 != (a.Lost > 0) {
					t.Errorf("%s, ring %d, sampling %d: %d samples, %+v, want %d of %d calls", target, ring, i, samples[i], a, want, called)
				}
			}
		}
	}
}

func TestLiveFilterThatTheKernelRefusesIsNamed(t *testing.T) {
	needRoot(t)
	tests := []struct {
		event  Event
		filter string
		hint   string
	}{
		{hitTracepoint(t), "m == 1", "names a field"},
		{hitTracepoint(t), "n == ", "not a condition"},
		{hitEvent(t, false), "n == 1", "only tracepoints"},
		{CPUClock(), "n == 1", "only tracepoints"},
	}
	for _, tt := range tests {
		s, err := Open(System(), []Sampling{{Event: tt.event, Period: 1, Filter: tt.filter}}, Options{})
		if err == nil {
			s.Close()
			t.Errorf("%s with filter %q: opened", tt.event, tt.filter)
			continue
		}
		var open *OpenError
		if !errors.As(err, &open) || !errors.Is(err, ErrFilter) || !strings.Contains(err.Error(), strconv.Quote(tt.filter)) ||
			open.Event != tt.event.String() || !strings.Contains(open.Hint, tt.hint) {
			t.Errorf("%s with filter %q: %v", tt.event, tt.filter, err)
		}
	}
}
