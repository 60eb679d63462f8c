package atsample

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestACPUBudgetIsAShareOfTheTimeThatPasses(t *testing.T) {
	const ms = time.Millisecond
	type step struct{ passes, spends, left, due time.Duration }
	for _, test := range []struct {
		name  string
		steps []step
	}{
		{"it starts empty", []step{{0, ms, -ms, 10 * ms}}},
		{"time earns back what was overspent", []step{{0, ms, -ms, 10 * ms}, {10 * ms, 0, 0, 0}}},
		{"a long task within the budget need not wait", []step{{100 * ms, 4 * ms, 6 * ms, -60 * ms}}},
		{"it saves maxSaved and no more", []step{{time.Hour, 0, maxSaved, -200 * ms}, {0, maxSaved + ms, -ms, 10 * ms}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newCPUBudget(0.1)
			for i, s := range test.steps {
				time.Sleep(s.passes)
				r.earn(time.Now())
				if r.remaining -= s.spends; r.remaining != s.left || r.untilEarned() != s.due {
					t.Errorf("%s: after step %d %v remain, and %v until earned, want %v and %v", test.name, i, r.remaining, r.untilEarned(), s.left, s.due)
				}
			}
		})
	}
}
