package perfevent

// duplicates recognizes what arrives twice. While the events of a process's
// threads are being opened, a thread may be born to one whose events are open
// already: it inherits those, and then gets events of its own too. Everything
// that it and its children do is then recorded by both.
//
// Inherited events write under the id of the event that they were inherited
// from, so every record names its origin: the attachment to one thread. Both
// origins record the same, so each thread is bound to the origin that delivered
// first, and what comes from another is left out. That is only done when late
// threads were found.
type duplicates struct {
	ambiguous bool
	bound     map[uint32]int32 // tid → origin
}

// isDuplicate binds the thread that wrote a record to the record's origin, and
// reports whether it was bound to another before.
func (s *Session) isDuplicate(h *Header) bool {
	ev := s.dec.events.find(h.ID)
	if ev == nil {
		return false
	}
	return s.twice.seen(h, ev.origin)
}

func (d *duplicates) seen(h *Header, origin int32) bool {
	if d.bound == nil {
		d.bound = make(map[uint32]int32)
	}
	first, ok := d.bound[h.TID]
	if !ok {
		d.bound[h.TID] = origin
		return false
	}
	return first != origin
}

// born forgets a thread's binding: its number is being used again.
func (d *duplicates) born(tid uint32) { delete(d.bound, tid) }
