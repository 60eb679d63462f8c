package table

import "github.com/ringtap/ringtap/perfevent"

// Span is a stretch of time that is recorded, of a Recorder with Options.Spans.
type Span struct {
	Start, End uint64   // CLOCK_MONOTONIC, nanoseconds
	Follows    bool     // no records are missing since the span before
	Notes      []string // what the reader of its window must know
}

// Record has the records of a span make a window. Spans are given in the order of
// time, and none before all records that came before it. It may be called from any
// goroutine.
func (r *Recorder) Record(s Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans = append(r.spans, s)
}

// Replay takes a record of a time that Handle has gone past already. What is known
// of processes stays as it is; a sample is of its process as that was then. Records
// that are replayed come in time order, and are of a span that follows the windows
// that are closed.
func (r *Recorder) Replay(record perfevent.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at := record.Common().Time
	r.advance(at)
	r.processes.AsOf(at)
	defer r.processes.AsOf(0)
	if sample, ok := record.(*perfevent.Sample); ok {
		r.unwind(sample)
		r.handleSample(sample)
	} else {
		r.follow(record)
	}
}

// advanceSpans closes and begins windows up to now.
func (r *Recorder) advanceSpans(now uint64) {
	for {
		if r.idle {
			if len(r.spans) == 0 || now < r.spans[0].Start {
				return
			}
			r.beginSpan()
		}
		if now < r.due {
			return
		}
		r.endAll(r.due)
		r.close(r.due)
		r.idle = true
	}
}

// beginSpan begins the window of the first span that waits.
func (r *Recorder) beginSpan() {
	s := r.spans[0]
	r.spans = r.spans[1:]
	r.idle, r.start, r.due, r.notes = false, s.Start, s.End, s.Notes
	for i := range r.parts {
		p := &r.parts[i]
		p.closed.Add(p.counts) // what was left out since the window before
		p.counts = Counts{}
		if p.state != nil && !s.Follows {
			p.state.Forget(s.Start)
		}
	}
	if !s.Follows {
		r.since = s.Start
	}
}

// within tells whether a time is in the window under way.
func (r *Recorder) within(at uint64) bool { return !r.idle && at >= r.start && at < r.due }
