package athit

import (
	"time"

	"github.com/ringtap/ringtap/internal/readmem/helper"
)

// matcher finds the helper's reading of a sample. The caller's event and the helper's event of a hit have
// different times. Nothing else runs on the CPU between the two, so the reading starts after both. If it is exact,
// the thread is stopped until it ends. So it belongs to the thread's last sample before its end.
type matcher struct {
	threads map[thread]*hits
	order   []*reading // oldest first, including those that were taken
}

// thread is a thread at one of the helper's samplings.
type thread struct {
	tid      uint32
	sampling int
}

// hits are the hits of a thread at a sampling that have not been taken, oldest first.
type hits struct {
	samples  []uint64 // when, CLOCK_MONOTONIC in nanoseconds
	readings []*reading
}

// reading is what the helper read at a hit.
type reading struct {
	thread    thread
	time, end uint64 // CLOCK_MONOTONIC in nanoseconds
	certainty Certainty
	data      []byte // packed
}

// apart is the longest time between the two events of a hit, in nanoseconds: a reading further away belongs to
// another hit. It is shorter than the time by which Seen precedes Take (perfevent.Reader.Unordered), so that Take
// knows all hits between a sample and a reading.
const apart = uint64(200 * time.Microsecond)

// Bounds of the matcher's memory: readings, samples of a thread, and threads. Samples of processes that are not the
// target's are never taken.
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

// saw notes a sample of a thread.
func (m *matcher) saw(t thread, when uint64) {
	h := m.of(t)
	h.samples = append(h.samples, when)
	h.samples = h.samples[max(0, len(h.samples)-maxSamples):]
}

// add notes a reading.
func (m *matcher) add(r *helper.Reading) {
	one := &reading{thread: thread{r.TID, r.Sampling}, time: r.Time, end: r.Time + uint64(r.Late), certainty: Near, data: r.Data}
	if r.Certainty == helper.Exact {
		one.certainty = Exact
	}
	h := m.of(one.thread)
	h.readings = append(h.readings, one)
	m.order = append(m.order, one)
	for len(m.order) > maxReadings {
		m.forget(m.order[0])
		m.order = m.order[1:]
	}
}

// forget drops a reading that has not been taken, and its thread's earlier ones.
func (m *matcher) forget(r *reading) {
	h := m.threads[r.thread]
	if h == nil {
		return
	}
	for len(h.readings) > 0 && h.readings[0].end <= r.end {
		h.readings = h.readings[1:]
	}
	m.tidy(r.thread, h)
}

// tidy forgets a thread without samples and readings.
func (m *matcher) tidy(t thread, h *hits) {
	if len(h.readings)+len(h.samples) == 0 {
		delete(m.threads, t)
	}
}

// take returns the reading of a thread's sample, or nil. The samples of a thread are taken in order of time.
func (m *matcher) take(t thread, when uint64) *reading {
	h := m.threads[t]
	if h == nil {
		return nil
	}
	defer m.tidy(t, h)
	for len(h.samples) > 0 && h.samples[0] <= when {
		h.samples = h.samples[1:]
	}
	for len(h.readings) > 0 && h.readings[0].end < when {
		h.readings = h.readings[1:]
	}
	if len(h.readings) == 0 {
		return nil
	}
	r := h.readings[0]
	if r.time > when+apart || when > r.time+apart || len(h.samples) > 0 && h.samples[0] <= r.end {
		return nil
	}
	h.readings = h.readings[1:]
	return r
}
