package live

import (
	"fmt"
	"slices"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
)

// calls has the records of a function's entries until the calls return. It maps the ID of a thread
// to its records, the innermost call last.
type calls map[uint32][][]byte

// Bounds of calls, some of which never return: nested calls in a thread, and threads. A thread with
// too many calls loses its oldest one. If there are too many threads, all calls are forgotten.
const (
	maxNested  = 64
	maxThreads = 1 << 16
)

// enter keeps the record of an entry.
func (c calls) enter(tid uint32, raw []byte) {
	open, known := c[tid]
	if !known && len(c) >= maxThreads {
		clear(c)
	}
	if len(open) >= maxNested {
		open = slices.Delete(open, 0, 1)
	}
	c[tid] = append(open, slices.Clone(raw))
}

// leave returns the record of the entry that a return belongs to, or nil if the entry was not seen.
func (c calls) leave(tid uint32) []byte {
	open := c[tid]
	if len(open) == 0 {
		return nil
	}
	last := len(open) - 1
	raw := open[last]
	if last == 0 {
		delete(c, tid)
	} else {
		c[tid] = open[:last]
	}
	return raw
}

// joinEntries links each return that needs the record of its function's entry with the entry's source.
func (a *Attachment) joinEntries() {
	for _, s := range a.sources {
		if s.event.Entry == nil {
			continue
		}
		for _, entry := range a.sources {
			if entry.event != s.event.Entry {
				continue
			}
			if entry.calls == nil {
				entry.calls = &calls{}
			}
			if s.entry == nil || entry.name == s.name {
				s.entry = entry
			}
		}
	}
}

// join keeps the record of an entry for the return of its call. At a return, it sets h.entry.
func (s *source) join(h *hit) {
	h.entry = nil
	if s.calls != nil {
		s.calls.enter(h.sample.TID, h.raw)
	}
	if s.entry != nil {
		h.entry = s.entry.calls.leave(h.sample.TID)
	}
}

// ofEntry returns a getter of a field in the record of the function's entry. The field is zero
// if the entry was not seen.
func (s *source) ofEntry(name string, src *check.Source) (getter, error) {
	if s.entry == nil {
		return nil, fmt.Errorf("the entry of %s can't be probed", s.name)
	}
	f := s.entry.probe.Format.Field(name)
	if f == nil {
		return nil, fmt.Errorf("%s has no field %s", s.entry.probe.Format.Name, name)
	}
	return inRecord(func(h *hit) []byte { return h.entry }, recorded(f, src), src), nil
}
