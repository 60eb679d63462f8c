package table

import "github.com/ringtap/ringtap/perfevent"

// MayPass reports whether Early may get a record before earlier samples that Record will get. It
// may, if the collector of the sample does not ask for Ordered samples: both are in the same
// window. next says that no earlier samples are waiting. MayPass may be called at any time.
func (r *Recorder) MayPass(record perfevent.Record, next bool) bool {
	switch record := record.(type) {
	case *perfevent.Sample:
		return next || r.isExample(record) || !r.bySample[record.Sampling].ordered // ordered never changes
	case *perfevent.Switch:
		return true
	}
	return false
}

// Early counts a record if no files must be read for it. It returns false for records that Record
// must handle: those that start or end a window, and samples whose stack leads to files that were
// not read yet. Reading them may take long.
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
