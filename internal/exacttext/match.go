package exacttext

import (
	"time"

	"github.com/ringtap/ringtap/perfevent/near"
)

// matcher finds the reading of a sample: two events tell of the same hit, each with a time of
// its own. The kernel lets nothing else run between them, so that the reading begins when both
// have been written. While it lasts the thread stands still, if it is exact: it is of the last
// sample of its thread before its end.
type matcher struct {
	threads map[thread]*hits
	order   []*reading // oldest first, those that were taken among them
}

// thread is a thread at one of the samplings.
type thread struct {
	tid      uint32
	sampling int
}

// hits are the hits of a thread at a sampling that nobody has asked for, oldest first.
type hits struct {
	samples  []uint64 // when
	readings []*reading
}

// reading is what was read at a hit.
type reading struct {
	of        thread
	time, end uint64
	exact     bool
	data      []byte // as it is packed
}

// apart is how far apart the times of the two events of a hit are at most, in nanoseconds. It
// is what tells hits apart of which only one has a reading.
const apart = uint64(200 * time.Microsecond)

// Bounds of what is kept: readings, the samples of a thread, and threads. Nobody asks for
// samples that turn out not to be the target's.
const (
	maxReadings = 1 << 15
	maxSamples  = 1 << 12
	maxThreads  = 1 << 13
)

func (m *matcher) of(t thread) *hits {
	h := m.threads[t]
	if h == nil {
		if len(m.threads) >= maxThreads {
			clear(m.threads)
		}
		h = &hits{}
		m.threads[t] = h
	}
	return h
}

// saw notes a sample.
func (m *matcher) saw(t thread, at uint64) {
	h := m.of(t)
	h.samples = append(h.samples, at)
	h.samples = h.samples[max(0, len(h.samples)-maxSamples):]
}

// add notes a reading.
func (m *matcher) add(r *near.Reading) {
	of := thread{r.TID, r.Sampling}
	one := &reading{of: of, time: r.Time, end: r.Time + uint64(r.Verdict.Late), exact: r.Verdict.Kind == near.Exact, data: r.Data}
	h := m.of(of)
	h.readings = append(h.readings, one)
	m.order = append(m.order, one)
	for len(m.order) > maxReadings {
		m.forget(m.order[0])
		m.order = m.order[1:]
	}
}

// forget drops a reading, if it has not been taken, and those of its thread before it.
func (m *matcher) forget(r *reading) {
	h := m.threads[r.of]
	if h == nil {
		return
	}
	for len(h.readings) > 0 && h.readings[0].end <= r.end {
		h.readings = h.readings[1:]
	}
	m.tidy(r.of, h)
}

// tidy forgets a thread that nothing is known of.
func (m *matcher) tidy(t thread, h *hits) {
	if len(h.readings)+len(h.samples) == 0 {
		delete(m.threads, t)
	}
}

// take returns the reading of a sample, or nil. The samples of a thread are asked for in order
// of time.
func (m *matcher) take(t thread, at uint64) *reading {
	h := m.threads[t]
	if h == nil {
		return nil
	}
	defer m.tidy(t, h)
	for len(h.samples) > 0 && h.samples[0] <= at {
		h.samples = h.samples[1:]
	}
	for len(h.readings) > 0 && h.readings[0].end < at {
		h.readings = h.readings[1:]
	}
	if len(h.readings) == 0 {
		return nil
	}
	r := h.readings[0]
	if r.time > at+apart || at > r.time+apart || len(h.samples) > 0 && h.samples[0] <= r.end {
		return nil
	}
	h.readings = h.readings[1:]
	return r
}
