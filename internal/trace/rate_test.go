package trace

import (
	"errors"
	"testing"
)

func TestARateIsMeasuredOverASecondOrMore(t *testing.T) {
	const second = 1_000_000_000
	r := rate{max: 100}
	for _, step := range []struct {
		now, hits, want uint64 // want: the rate that is refused, 0 for none
	}{
		{5 * second, 0, 0},
		{5*second + second/2, 1000, 0}, // half a second says nothing yet
		{6 * second, 100, 0},
		{8 * second, 300, 0}, // 100 a second
		{9 * second, 401, 101},
	} {
		err := r.check(step.now, step.hits)
		var refused *RateError
		switch {
		case step.want == 0 && err != nil:
			t.Errorf("%d hits at %d: %v", step.hits, step.now, err)
		case step.want > 0 && (!errors.As(err, &refused) || refused.Rate != step.want || refused.Max != 100):
			t.Errorf("%d hits at %d: %v, want %d refused", step.hits, step.now, err, step.want)
		}
	}
	if err := (&rate{}).check(1, 1<<60); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}
