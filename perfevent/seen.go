package perfevent

// look offers what has come into the ring since it was last called, in the
// ring's own order, and leaves it there. It must follow a snapshot.
func (r *ring) look(see func(b []byte)) {
	// What was given back to the kernel, or given up, can't be looked at.
	if oldest := r.oldest(); int64(r.seen-oldest) < 0 {
		r.seen = oldest
	}
	for r.seen != r.limit {
		size, ok := r.sizeAt(r.seen)
		if !ok {
			r.seen = r.limit
			return
		}
		e := entry{pos: r.seen, size: uint32(size)}
		r.seen += size
		see(r.bytes(&e))
	}
}

// see offers a record to Options.Seen, if it is of this session and in order.
func (s *Session) see(b []byte) {
	if record, err := s.dec.decode(b); err == nil {
		s.opts.Seen(record)
	}
}
