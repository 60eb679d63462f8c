package syscalltext

import (
	"bytes"
	"slices"

	"github.com/ringtap/ringtap/internal/readmem/athit"
	"github.com/ringtap/ringtap/perfevent"
)

// maxText is how many bytes of a text are read, unless Options.Limit asks for more: the longest path that the
// kernel takes (PATH_MAX), its zero included.
const maxText = 4096

// maxTexts bounds the bytes of a record's texts together, without vectors: a record has 16-bit offsets.
const maxTexts = 32 << 10

// limitOf returns how many bytes of each text of an event are read, including its zero. wanted is Options.Limit.
func limitOf(wanted int, params []Param) int {
	n := 0
	for _, p := range params {
		if !p.Vector {
			n++
		}
	}
	return max(maxText, min(wanted+len(athit.More)+1, maxTexts/max(n, 1)))
}

// pointers returns the parameters with text. The helper does not read texts that the kernel fetches.
func (e *event) pointers() (pointers []athit.Pointer) {
	if e == nil {
		return nil
	}
	for i, p := range e.layout.params {
		pointer := athit.Pointer{
			Offset: -1, Vector: p.Vector, Limit: e.layout.limit, AtArrival: true, NoHelper: true,
			Recorded: func(raw []byte) bool {
				_, whole := e.fetched(i, raw)
				return whole
			},
		}
		if p.Vector {
			pointer.Limit = maxText
		}
		if field := e.argument(i); field != nil {
			pointer.Offset, pointer.NoHelper = field.Offset, e.fetches(i) != nil
		}
		pointers = append(pointers, pointer)
	}
	return pointers
}

// texts returns the texts of a sample of the i-th source, by parameter. Sample.Sampling may be another index:
// the session may have samplings before those of the sources.
func (a *Attachment) texts(i int, s *perfevent.Sample) []text {
	e := a.events[i]
	texts := make([]text, len(e.layout.params))
	certain := true
	for j, f := range a.reader.Take(i, s) {
		fetched, whole := e.fetched(j, s.Raw)
		texts[j].bytes = fetched
		if f.Read && !whole {
			if b := terminated(f, e.layout.limit, e.layout.params[j].Vector); fetched == nil || continues(b, fetched) {
				texts[j] = text{b, f.Certainty < athit.Exact}
			}
		}
		certain = certain && (whole || e.pointer(j, s.Raw) == 0 || f.Read && f.Certainty == athit.Exact)
	}
	if a.execs == nil || !isExec(e.layout.format) {
		return texts
	}
	if x := a.execs.take(s, e.vector(s.Raw), certain); x != nil {
		x.complete(e, s.Raw, texts)
	}
	return texts
}

// terminated returns a text with its zero, or the texts of a vector with theirs. A cut text ends with athit.More.
func terminated(f athit.Found, limit int, vector bool) []byte {
	b := slices.Clip(f.Bytes)
	switch {
	case !f.Cut && vector:
		return b
	case !f.Cut:
		return append(b, 0)
	case !vector:
		b = b[:min(len(b), limit-len(athit.More)-1)]
	}
	return append(b, athit.More+"\x00"...)
}

// continues reports whether b can be the text of which the kernel recorded only begin.
func continues(b, begin []byte) bool {
	return bytes.HasPrefix(b, bytes.TrimRight(begin, "\x00."))
}

// seen gets the records as they come: see perfevent.Reader.Unordered.
func (a *Attachment) seen(record perfevent.Record) {
	a.reader.Seen(record)
	if a.execs == nil {
		return
	}
	switch record := record.(type) {
	case *perfevent.Sample:
		if record.Sampling >= len(a.events) {
			a.execs.started(record)
		} else if e := a.events[record.Sampling]; e != nil && isExec(e.layout.format) {
			a.execs.called(record, e.vector(record.Raw))
		}
	case *perfevent.Exit:
		a.execs.ended(record.TID)
	}
}
