package table

// Span is a recorded stretch of time, for a Recorder with Options.Spans.
type Span struct {
	Start, End uint64   // CLOCK_MONOTONIC, nanoseconds
	Follows    bool     // no records are missing since the previous span
	Notes      []string // for the reader of its window
}

// RecordSpan makes a window of the records of a span. Spans must be in time order. A span must not
// start before records that were already handled.
func (r *Recorder) RecordSpan(s Span) { r.spans = append(r.spans, s) }

// beginSpan starts the window of the first waiting span.
func (r *Recorder) beginSpan() {
	s := r.spans[0]
	r.spans = r.spans[1:]
	r.idle, r.start, r.due, r.notes = false, s.Start, s.End, s.Notes
	for i := range r.parts {
		p := &r.parts[i]
		p.closed.Add(p.counts) // samples left out since the previous window
		p.counts = Counts{}
		if p.state != nil && !s.Follows {
			p.state.Forget(s.Start)
		}
	}
	if !s.Follows {
		r.since = s.Start
	}
}

// within reports whether time is in the current window.
func (r *Recorder) within(time uint64) bool { return !r.idle && time >= r.start && time < r.due }
