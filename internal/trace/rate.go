package trace

import "fmt"

// RateError is returned when events come faster than Options.MaxRate.
type RateError struct {
	Rate, Max uint64 // hits a second: measured over a second or more, and allowed
}

func (e *RateError) Error() string {
	return fmt.Sprintf("%d hits a second, more than the %d that are allowed: the events were removed", e.Rate, e.Max)
}

// rate checks how fast events come.
type rate struct {
	max   uint64 // hits a second; 0: any
	since uint64 // start of the current second, in nanoseconds; 0 before the first
	hits  uint64 // at that time
}

// check is called from time to time with the total number of hits. It returns a *RateError if there
// were too many in the last second.
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
