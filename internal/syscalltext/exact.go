package syscalltext

import (
	"fmt"
	"slices"
	"time"

	"github.com/ringtap/ringtap/internal/exacttext"
	"github.com/ringtap/ringtap/perfevent"
)

// exact has the texts of samples that were read while their threads stood still. A nil one
// has none.
type exact struct {
	reader *exacttext.Reader
	// samplings has the reader's sampling of each source, or -1, and wanted which of the
	// parameters it reads.
	samplings []int
	wanted    [][]int
}

// Start begins to read texts exactly, where Options.Near allows it and the kernel does not
// fetch them all. It comes before the sources are opened on the target. Without the rights for
// it the texts are read later; that is an error only if Method is Near.
func (a *Attachment) Start(target perfevent.Target, o Options) error {
	if !o.Near || a.reader == nil || o.Method == Memory {
		return nil
	}
	e := &exact{samplings: make([]int, len(a.events)), wanted: make([][]int, len(a.events))}
	var samplings []exacttext.Sampling
	for i, event := range a.events {
		e.samplings[i] = -1
		if event == nil {
			continue
		}
		texts, params := event.exactTexts()
		if len(texts) == 0 {
			continue
		}
		e.samplings[i], e.wanted[i] = len(samplings), params
		samplings = append(samplings, exacttext.Sampling{Sampling: a.Sources[i].Sampling(), Texts: texts})
	}
	if len(samplings) == 0 {
		return nil
	}
	reader, err := exacttext.Start(target, samplings, exacttext.Options{Logger: a.logger})
	if err != nil {
		if o.Method == Near {
			return fmt.Errorf("read texts while threads stand still: %w", err)
		}
		a.logger.Info("texts are read late", "error", err)
		return nil
	}
	e.reader = reader
	a.reader.exact = e
	return nil
}

// exactTexts are the texts of an event that the kernel does not fetch, and the numbers of
// their parameters.
func (e *event) exactTexts() (texts []exacttext.Text, params []int) {
	for i, p := range e.layout.params {
		if e.fetches(i) != nil {
			continue
		}
		field := e.layout.args[i]
		if e.probe != nil {
			if field = e.probe.Field(field.Name); field == nil {
				continue
			}
		}
		limit := e.layout.limit
		if p.Vector {
			limit = maxText
		}
		texts = append(texts, exacttext.Text{Offset: field.Offset, Vector: p.Vector, Limit: limit})
		params = append(params, i)
	}
	return texts, params
}

// saw is told of each sample of a source when it comes.
func (x *exact) saw(s *perfevent.Sample) {
	if x != nil && x.samplings[s.Sampling] >= 0 {
		x.reader.Saw(x.samplings[s.Sampling], s)
	}
}

// take returns the texts of a sample of the i-th source that were read near it, by parameter, and
// whether that was exact and is all that its record needs. Sample.Sampling may be another index:
// the session may have samplings before those of the sources.
func (x *exact) take(i int, e *event, s *perfevent.Sample) (texts []text, all bool) {
	if x == nil || x.samplings[i] < 0 {
		return nil, false
	}
	found, isExact := x.reader.Take(x.samplings[i], s)
	wanted := x.wanted[i]
	if len(found) != len(wanted) {
		return nil, false
	}
	texts, all = make([]text, len(e.layout.params)), isExact
	for i, f := range found {
		addr := e.pointer(wanted[i], s.Raw)
		if addr != f.Addr {
			return nil, false // of another call
		}
		if !f.Read {
			all = all && addr == 0
			continue
		}
		texts[wanted[i]] = text{bytes: e.layout.terminated(wanted[i], f), late: !isExact}
	}
	return texts, all && len(wanted) == len(e.layout.params)
}

// terminated returns the text of the i-th parameter with its zero, or those of a vector with theirs. What was
// cut ends with more.
func (l *layout) terminated(i int, f exacttext.Found) []byte {
	b, vector := slices.Clip(f.Bytes), l.params[i].Vector
	switch {
	case !f.Cut && vector:
		return b
	case !f.Cut:
		return append(b, 0)
	case !vector:
		b = b[:min(len(b), l.limit-len(more)-1)]
	}
	return append(b, more+"\x00"...)
}

// merge puts the texts that were read near a sample in the place of those that were read
// later.
func merge(texts, near []text) []text {
	if texts == nil {
		return near
	}
	for i := range near {
		if len(near[i].bytes) > 0 && (texts[i].late || len(texts[i].bytes) == 0) {
			texts[i] = near[i]
		}
	}
	return texts
}

// Helper is the process that reads texts exactly, or 0. Nobody wants to see its hits.
func (a *Attachment) Helper() uint32 {
	if a.reader == nil || a.reader.exact == nil {
		return 0
	}
	return a.reader.exact.reader.PID()
}

// AtMoments tells whether the texts are those of the moments of the calls, so that Seen need not see records as
// soon as they come.
func (a *Attachment) AtMoments() bool {
	return !slices.ContainsFunc(a.Methods, func(m Method) bool { return m == Memory || m == Near && a.Helper() == 0 })
}

// Rests says from when on calls came so fast that not all texts were read exactly; "" if they
// never did.
func (a *Attachment) Rests() string {
	if a.reader == nil || a.reader.exact == nil {
		return ""
	}
	since, lasted := a.reader.exact.reader.Rested()
	if since == 0 {
		return ""
	}
	at := time.Now().Add(-time.Duration(perfevent.Now() - since))
	return fmt.Sprintf("calls came too fast from %s on, for %v of CPU time: %d of %d texts were read a moment after their calls",
		at.Format("15:04:05.000"), lasted.Round(time.Millisecond), a.Late, a.Texts)
}

// endNear ends what Start has started.
func (a *Attachment) endNear() {
	if a.reader == nil || a.reader.exact == nil {
		return
	}
	if err := a.reader.exact.reader.Close(); err != nil {
		a.logger.Warn("texts were not read exactly to the end", "error", err)
	}
}
