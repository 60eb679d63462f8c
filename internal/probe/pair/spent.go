package pair

// Spent yields the open calls. self is the time that a call has spent until now, without calls
// inside it and without the time yielded before. Call it at the end of a window, which calls
// may outlast.
//
// Only the returns of its callers show whether a call was left by longjmp(3) or an exception.
// Spent skips a call if a later call had its frame at the same place or above. If the skipped
// call returns after all (from another stack), Ended.Own includes its time.
func (c *Calls[P]) Spent(now uint64, yield func(call *Call[P], self uint64)) {
	for _, s := range c.tasks {
		s.spent(now, yield)
	}
}

func (s *stack[P]) spent(now uint64, yield func(*Call[P], uint64)) {
	until := now      // start of the call inside, or now
	gone := uint64(0) // time already counted for doubtful calls inside
	for i := len(s.calls) - 1; i >= 0; i-- {
		c := &s.calls[i]
		if c.doubtful {
			gone += c.inner + c.counted
			continue
		}
		ended := c.inner
		c.inner += gone
		own := c.own(until)
		c.inner = ended
		if own > 0 {
			yield(c, own)
			c.counted += own
		}
		until, gone = c.Start, 0
	}
}

// own returns a call's time until now, without calls inside it and without the time already
// counted.
func (c *Call[P]) own(now uint64) uint64 {
	if took := now - c.Start; now > c.Start && took > c.inner+c.counted {
		return took - c.inner - c.counted
	}
	return 0
}

// maxDoubts bounds the calls that one entry examines.
const maxDoubts = 64

// doubt marks the calls whose frames a new frame at slot overwrites or lies above.
func (s *stack[P]) doubt(slot uint64) {
	for i := len(s.calls) - 1; i >= max(0, len(s.calls)-maxDoubts); i-- {
		c := &s.calls[i]
		if c.Slot > slot {
			return
		}
		c.doubtful = true
	}
}
