package profiler

import (
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/perfevent"
)

// meter gives Metered collectors the function that reads how long their events count. It tells
// Inherited ones whether their events are inherited.
func (r *profiling) meter() {
	first := 0
	for i, collector := range r.opts.Collectors {
		n := len(r.plans[i].Samplings)
		if metered, ok := collector.(table.Metered); ok {
			metered.Running(r.running(first, n))
		}
		// Between alarms nothing is sampled, so that there is nothing to compare.
		if inherited, ok := collector.(table.Inherited); ok && r.alarms == nil && r.live.Inherits(first) {
			inherited.Inherits()
		}
		first += n
	}
}

// running returns a function that reads how long n of the session's samplings, from first on, have
// counted.
func (r *profiling) running(first, n int) func() ([]perfevent.Running, error) {
	return func() ([]perfevent.Running, error) {
		all, err := r.live.Running()
		if err != nil {
			return nil, err
		}
		return all[first : first+n], nil
	}
}
