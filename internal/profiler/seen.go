package profiler

import (
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// watching is a collector that is offered records as soon as they come.
type watching struct {
	seen        func(perfevent.Record)
	first, last int // the session's samplings that are the collector's, and the one behind
}

// seen offers records to the collectors that ask for them; nil if none does. A sample
// names a sampling of the collector's own plan.
func (r *profiling) seen() func(perfevent.Record) {
	var all []watching
	first := 0
	for i, collector := range r.opts.Collectors {
		last := first + len(r.plans[i].Samplings)
		if watcher, ok := collector.(table.Watcher); ok {
			if seen := watcher.Seen(); seen != nil {
				all = append(all, watching{seen, first, last})
			}
		}
		first = last
	}
	if all == nil {
		return nil
	}
	return func(record perfevent.Record) {
		sample, ok := record.(*perfevent.Sample)
		for _, w := range all {
			switch {
			case !ok:
				w.seen(record)
			case w.first <= sample.Sampling && sample.Sampling < w.last:
				own := *sample
				own.Sampling -= w.first
				w.seen(&own)
			}
		}
	}
}
