package functrace

import (
	"context"
	"testing"

	"github.com/ringtap/ringtap/internal/testlimit"
)

// Records that come without a pause are no reason for an interval never to end.
func TestAStormOfCallsKeepsNoIntervalFromItsEnd(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), testlimit.End)
	defer cancel()
	intervals := 0
	storm := func() (more bool, err error) {
		return true, nil
	}
	emit := func() error {
		if intervals++; intervals >= 3 {
			cancel()
		}
		return nil
	}
	o := CountOptions{Interval: 2 * every} // so that the storm is met first
	if err := o.rounds(ctx, storm, emit, func() bool { return false }); err != nil || intervals < 3 {
		t.Errorf("%d intervals, %v; want 3 or more", intervals, err)
	}
}
