package collect

import "github.com/ringtap/ringtap/perfevent"

// Early takes a sample whose stack has been seen before, as
// perfevent.Options.Early has it: on another goroutine than Handle, and before
// samples that Handle is still to be given. Those are of the same window, and
// between samples of one window their order does not matter. It reports false
// for a sample that Handle must be given.
func (r *Recorder) Early(sample *perfevent.Sample) bool {
	if !r.mu.TryLock() {
		return false
	}
	defer r.mu.Unlock()
	ends := r.opts.Interval > 0 && sample.Time >= r.due || r.opts.End > 0 && sample.Time >= r.opts.End
	if ends || sample.PID == r.opts.Self || r.stacker.Stacks.Kernel || r.collector.Skip(sample) {
		return false
	}
	p := r.processes.Process(int(int32(sample.PID)))
	c := r.memo.find(p, sample)
	if c == nil {
		return false
	}
	k := key{process: p.Index, user: c.id, kernel: NoStack}
	if _, ok := r.table.rows[k]; !ok {
		return false
	}
	r.count(c.end)
	r.counts.Samples++
	r.collector.Fold(r.table.row(k), sample)
	return true
}
