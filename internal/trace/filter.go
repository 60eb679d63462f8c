package trace

import (
	"github.com/ringtap/ringtap/internal/probe/eventfilter"
	"github.com/ringtap/ringtap/perfevent"
)

// wanted sets sample.Raw to the record that the source's format describes. It reports whether the
// record passes the part of the filter that the kernel could not evaluate.
func (f *follower) wanted(sample *perfevent.Sample) bool {
	source := &f.opts.Sources[sample.Sampling]
	if source.Record != nil {
		f.raw = source.Record(f.raw[:0], sample)
		sample.Raw = f.raw
	}
	if source.Keep == nil {
		return true
	}
	switch source.Keep(sample.Raw) {
	case eventfilter.Yes:
		return true
	case eventfilter.Unknown:
		f.account.Unread++
	default:
		f.account.Filtered++
	}
	return false
}
