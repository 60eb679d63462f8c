package table

import "github.com/ringtap/ringtap/perfevent"

// Early takes a record that needs no more than counting, as
// perfevent.Reader.BeforeSpool has it: on another goroutine than Handle, and before
// samples that Handle is still to be given, unless it is the next of all. Those are
// of the same window, and between samples of one window their order does not matter,
// but to collectors that say so. It reports false for a record that Handle must be
// given: one that begins or ends something, or whose stack is in a file that was not
// met yet, which may take long to read.
func (r *Recorder) Early(record perfevent.Record, next bool) bool {
	sample, isSample := record.(*perfevent.Sample)
	if isSample && !next && !r.isExample(sample) && r.bySample[sample.Sampling].ordered { // which never changes
		return false
	}
	if _, ok := record.(*perfevent.Switch); !ok && !isSample || !r.mu.TryLock() {
		return false
	}
	defer r.mu.Unlock()
	at := record.Common().Time
	if r.opts.Interval > 0 && at >= r.due || r.opts.End > 0 && at >= r.opts.End || r.opts.Spans && !r.within(at) {
		return false
	}
	if !isSample {
		r.follow(record)
		return true
	}
	r.processes.Brief(true)
	r.unwind(sample)
	refused := r.processes.Refused()
	r.processes.Brief(false)
	if refused {
		return false
	}
	r.handleSample(sample)
	return true
}
