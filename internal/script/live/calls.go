package live

import (
	"fmt"
	"slices"

	"github.com/ringtap/ringtap/internal/script/check"
)

// calls are the records of a function's entries whose returns have not come, of each thread the
// innermost last.
type calls map[uint32][][]byte

// Bounds of what is kept of calls: how deep they nest in a thread, and of how many threads.
// Beyond them the oldest are forgotten: they are of calls that never return.
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

// leave returns the record of the entry that a return belongs to, nil if it was not seen.
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

// joinEntries lets returns find the records of their functions' entries.
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

// join keeps a hit's record for the return of its call, or finds that of its call's entry.
func (s *source) join(h *hit) {
	h.entry = nil
	if s.calls != nil {
		s.calls.enter(h.sample.TID, h.raw)
	}
	if s.entry != nil {
		h.entry = s.entry.calls.leave(h.sample.TID)
	}
}

// ofEntry returns what reads a field of the record of the function's entry. Where the entry was
// not seen, the field is zero.
func (s *source) ofEntry(name string, of *check.Source) (getter, error) {
	if s.entry == nil {
		return nil, fmt.Errorf("the entry of %s can't be probed", s.name)
	}
	f := s.entry.probe.Format.Field(name)
	if f == nil {
		return nil, fmt.Errorf("%s has no field %s", s.entry.probe.Format.Name, name)
	}
	return inRecord(func(h *hit) []byte { return h.entry }, recorded(f, of), of), nil
}
