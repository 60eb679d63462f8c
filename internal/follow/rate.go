package follow

import "fmt"

// RateError ends a run whose events come faster than they may.
type RateError struct {
	Rate, Max uint64 // hits a second: measured over a second or more, and allowed
}

func (e *RateError) Error() string {
	return fmt.Sprintf("%d hits a second, more than the %d that are allowed: the events were removed", e.Rate, e.Max)
}

// rate watches how fast events come.
type rate struct {
	max   uint64 // hits a second; 0: any
	since uint64 // nanoseconds, the begin of the second under way; 0 before the first
	hits  uint64 // by then
}

// check is told, from time to time, how many hits there have been by now.
func (r *rate) check(now, hits uint64) error {
	const second = 1_000_000_000
	if r.max == 0 {
		return nil
	}
	if r.since == 0 {
		r.since, r.hits = now, hits
		return nil
	}
	passed := now - r.since
	if passed < second {
		return nil
	}
	measured := (hits - r.hits) * second / passed
	r.since, r.hits = now, hits
	if measured > r.max {
		return &RateError{Rate: measured, Max: r.max}
	}
	return nil
}
