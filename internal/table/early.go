package table

import "github.com/ringtap/ringtap/perfevent"

// MayPass says that a record may be given to Early before samples that Record is still to
// be given: those are of the same window, and between samples of one window their order
// does not matter, but to collectors that say so. Next says that there are none. It may be
// called at any time.
func (r *Recorder) MayPass(record perfevent.Record, next bool) bool {
	switch record := record.(type) {
	case *perfevent.Sample:
		return next || r.isExample(record) || !r.bySample[record.Sampling].ordered // which never changes
	case *perfevent.Switch:
		return true
	}
	return false
}

// Early takes a record that needs no more than counting. It reports false for one that
// Record must be given: one that begins or ends something, or whose stack is in a file that
// was not met yet, which may take long to read.
func (r *Recorder) Early(record perfevent.Record) bool {
	at := record.Common().Time
	if r.opts.End > 0 && at >= r.opts.End || r.opts.Spans && !r.within(at) {
		return false
	}
	sample, ok := record.(*perfevent.Sample)
	if !ok {
		r.follow(record)
		return true
	}
	r.processes.CachedOnly(true)
	r.unwind(sample)
	refused := r.processes.Refused()
	r.processes.CachedOnly(false)
	if refused {
		return false
	}
	r.handleSample(sample)
	return true
}
