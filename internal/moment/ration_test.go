package moment

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestARationIsAShareOfAllTimeOfWhichALittleIsSaved(t *testing.T) {
	const ms = time.Millisecond
	type step struct{ passes, spends, left, due time.Duration }
	for _, test := range []struct {
		name  string
		steps []step
	}{
		{"nothing is there at the beginning", []step{{0, ms, -ms, 10 * ms}}},
		{"what is due makes up for it", []step{{0, ms, -ms, 10 * ms}, {10 * ms, 0, 0, 0}}},
		{"a long look is no reason to rest where there is something left", []step{{100 * ms, 4 * ms, 6 * ms, -60 * ms}}},
		{"not more is saved than that", []step{{time.Hour, 0, saved, -200 * ms}, {0, saved + ms, -ms, 10 * ms}}},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRation(0.1)
			for i, s := range test.steps {
				time.Sleep(s.passes)
				r.earn(time.Now())
				if r.left -= s.spends; r.left != s.left || r.due() != s.due {
					t.Errorf("%s: after step %d %v are left, and %v is due, want %v and %v", test.name, i, r.left, r.due(), s.left, s.due)
				}
			}
		})
	}
}
