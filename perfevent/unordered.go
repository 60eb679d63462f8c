package perfevent

// scan offers what has come into the ring since it was last called, in the
// ring's own order, and leaves it there. It must follow a snapshot.
func (r *ring) scan(offer func(b []byte)) {
	// What was given back to the kernel, or given up, can't be looked at.
	if oldest := r.oldest(); int64(r.scanned-oldest) < 0 {
		r.scanned = oldest
	}
	for r.scanned != r.limit {
		size, ok := r.sizeAt(r.scanned)
		if !ok {
			r.scanned = r.limit
			return
		}
		e := entry{pos: r.scanned, size: uint32(size)}
		r.scanned += size
		offer(r.bytes(&e))
	}
}
