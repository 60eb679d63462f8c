package profiler

import (
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/perfevent"
)

// watching is a collector that gets records as soon as they are read.
type watching struct {
	seen        func(perfevent.Record)
	first, last int // its samplings in the session: from first up to, but not including, last
}

// seen returns a function that passes records to the Watcher collectors; nil if there are none. A
// sample's Sampling is changed to the index in the collector's own plan.
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
