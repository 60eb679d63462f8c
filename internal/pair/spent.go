package pair

// Spent yields the calls that are open with the time of each that has gone by until
// now, outside of calls inside it, and that was not yielded before. It is for the
// end of a window, which calls may outlast.
//
// Whether a call was left by longjmp(3) or an exception is not known before its
// caller's returns. One is left out when a later call had its frame at the same
// place or above; if it returns after all (from another stack), Ended.Own has its
// time.
func (c *Calls[P]) Spent(now uint64, yield func(call *Call[P], own uint64)) {
	for _, s := range c.tasks {
		s.spent(now, yield)
	}
}

func (s *stack[P]) spent(now uint64, yield func(*Call[P], uint64)) {
	until := now      // when the call inside began, or now
	gone := uint64(0) // what was counted of calls inside that are doubtful
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

// own is the time of a call until now, without what was in calls inside it and
// what has been counted.
func (c *Call[P]) own(now uint64) uint64 {
	if took := now - c.Start; now > c.Start && took > c.inner+c.counted {
		return took - c.inner - c.counted
	}
	return 0
}

// maxDoubts bounds what one entry looks at.
const maxDoubts = 64

// doubt marks the calls whose frames a new one at that place lies over, or above.
func (s *stack[P]) doubt(slot uint64) {
	for i := len(s.calls) - 1; i >= max(0, len(s.calls)-maxDoubts); i-- {
		c := &s.calls[i]
		if c.Slot > slot {
			return
		}
		c.doubtful = true
	}
}
