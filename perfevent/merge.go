package perfevent

// merger hands on the records of all rings in time order, without copying them.
//
// The invariant: a record is handed on when its time is below a clock value that was read
// before an earlier round looked at the heads of all rings. Records written on any CPU before
// that clock value are visible in this round at the latest, so no later record can be earlier.
// The earlier round must be at least settle ago, because the kernel takes a record's time a
// moment before it writes the record. At the end, with the events disabled, all remaining
// records are handed on.
//
// So a record waits for two rounds, about 400 ms when little happens. If a ring is more than
// half full, the round hands on all that it sees, so that no records are lost. With unordered,
// it keeps back the last millisecond. breaks counts the records that come out of order because
// of that, or because the kernel was held up for longer than settle.
type merger struct {
	rings     []*ring
	heap      []due // rings with a record to hand on, a min-heap by its time
	clock     func() uint64
	halfFull  func(bool)     // may be nil; called at each look with whether a ring is more than half full
	unordered func(b []byte) // may be nil; called with each new record of a round before the first is handed on

	anyOrder bool // Reader.AnyOrder

	fullest   float64 // how much of the fullest ring was in use at the last look, from 0 to 1
	bound     uint64  // records before this time may be handed on
	candidate uint64  // the clock before an earlier round, which bound becomes next
	last      uint64  // time of the last record handed on
	breaks    uint64
}

// due is a ring and the time of its earliest record.
type due struct {
	time uint64
	ring *ring
}

// settle is how long, in nanoseconds, a CPU may take from reading a record's
// time to having it in the ring.
const settle = 5_000_000

// ahead is the time in nanoseconds by which unordered is ahead: it has seen at least this much
// after a record when the record is handed on.
const ahead = 1_000_000

// releaseEvery sets how often the kernel gets space back during a round: each time that
// 1/releaseEvery of a ring has been read.
const releaseEvery = 16

// round looks at the heads of all rings once and hands on the records that are due, or all if
// drain is true. If handle fails, round returns its error, and the record counts as taken.
func (m *merger) round(drain bool, handle func(r *ring, b []byte) error) error {
	now := m.clock()
	pressed := m.pressed()
	if m.halfFull != nil {
		m.halfFull(pressed)
	}
	if m.unordered != nil {
		for _, r := range m.rings {
			r.scan(m.unordered)
		}
	}
	bound := m.advance(now)
	switch {
	case m.anyOrder:
		return m.handOnEach(handle)
	case drain:
		bound = ^uint64(0)
	case pressed && m.unordered != nil:
		bound = max(bound, now-min(now, ahead))
	case pressed:
		bound = now
	}
	return m.handOn(bound, handle)
}

// pressed looks at the heads of all rings, and reports whether one is more than half full.
func (m *merger) pressed() bool {
	m.fullest = 0
	for _, r := range m.rings {
		r.snapshot()
		m.fullest = max(m.fullest, float64(r.used())/float64(len(r.data)))
	}
	return m.fullest > 0.5
}

// advance returns the bound of a round that began at now.
func (m *merger) advance(now uint64) uint64 {
	if m.candidate == 0 {
		m.candidate = now
	} else if now >= m.candidate+settle {
		m.bound, m.candidate = m.candidate, now
	}
	return m.bound
}

func (m *merger) handOn(bound uint64, handle func(r *ring, b []byte) error) error {
	m.heap = m.heap[:0]
	for _, r := range m.rings {
		if e := r.peek(); e != nil && e.time < bound {
			m.heap = append(m.heap, due{e.time, r})
		} else {
			r.release() // malformed data may have been skipped
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.down(i)
	}
	for len(m.heap) > 0 {
		r := m.heap[0].ring
		e := r.window[r.first]
		if e.time < m.last {
			m.breaks++
		} else {
			m.last = e.time
		}
		err := handle(r, r.bytes(&e))
		r.take()
		if err != nil {
			r.release()
			return err
		}
		if r.next-*r.tail > uint64(len(r.data)/releaseEvery) {
			r.release()
		}
		if next := r.peek(); next == nil || next.time >= bound {
			r.release()
			m.heap[0] = m.heap[len(m.heap)-1]
			m.heap = m.heap[:len(m.heap)-1]
		} else {
			m.heap[0].time = next.time
		}
		m.down(0)
	}
	return nil
}

// handOnEach hands on all that the snapshots of the rings show, ring after ring.
func (m *merger) handOnEach(handle func(r *ring, b []byte) error) error {
	for _, r := range m.rings {
		for e := r.peek(); e != nil; e = r.peek() {
			of := *e
			err := handle(r, r.bytes(&of))
			r.take()
			if err != nil {
				r.release()
				return err
			}
			if r.next-*r.tail > uint64(len(r.data)/releaseEvery) {
				r.release()
			}
		}
		r.release()
	}
	return nil
}

// down moves the ring at i to its place in the heap.
func (m *merger) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heap); child++ {
			if m.heap[child].time < m.heap[least].time {
				least = child
			}
		}
		if least == i {
			return
		}
		m.heap[i], m.heap[least] = m.heap[least], m.heap[i]
		i = least
	}
}
