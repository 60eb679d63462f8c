package table

// Span is a stretch of time that is recorded, of a Recorder with Options.Spans.
type Span struct {
	Start, End uint64   // CLOCK_MONOTONIC, nanoseconds
	Follows    bool     // no records are missing since the span before
	Notes      []string // what the reader of its window must know
}

// RecordSpan has the records of a span make a window. Spans are given in the order of
// time, and none before all records that came before it.
func (r *Recorder) RecordSpan(s Span) { r.spans = append(r.spans, s) }

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
