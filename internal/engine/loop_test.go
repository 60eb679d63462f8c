package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// Records that come without a pause are no reason for an interval never to end.
func TestAStormOfRecordsKeepsNoIntervalFromItsEnd(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	intervals := 0
	loop := Loop{
		Interval: 2 * every, // so that the storm is met first
		Read:     func() (more bool, err error) { return true, nil },
		Emit: func() error {
			if intervals++; intervals >= 3 {
				cancel()
			}
			return nil
		},
		Ended: func() bool { return false },
	}
	if err := loop.Run(ctx); err != nil || intervals < 3 {
		t.Errorf("%d intervals, %v; want 3 or more", intervals, err)
	}
}

func TestALoopEndsForEachReason(t *testing.T) {
	failure := errors.New("no more")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	nothing := func() (bool, error) { return false, nil }
	for name, test := range map[string]struct {
		ctx  context.Context
		loop Loop
		want error
	}{
		"the context is done":      {cancelled, Loop{Read: nothing, Ended: func() bool { return false }}, nil},
		"the duration is over":     {t.Context(), Loop{Duration: time.Millisecond, Read: func() (bool, error) { return true, nil }, Ended: func() bool { return false }}, nil},
		"the target has ended":     {t.Context(), Loop{Read: nothing, Ended: func() bool { return true }}, nil},
		"the target's end is told": {t.Context(), Loop{Done: cancelled.Done()}, nil},
		"what is read fails":       {t.Context(), Loop{Read: func() (bool, error) { return false, failure }}, failure},
		"what is emitted fails": {t.Context(), Loop{Interval: time.Millisecond, Read: nothing, Ended: func() bool { return false },
			Emit: func() error { return failure }}, failure},
	} {
		if err := test.loop.Run(test.ctx); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}
