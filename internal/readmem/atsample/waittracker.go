package atsample

import "time"

// waitTracker knows which threads have left a CPU and not come back, from the records of the rings. Records of
// one CPU come in order, but those of two CPUs come in any order. So their times decide, not the order of calls.
// Times are CLOCK_MONOTONIC in nanoseconds, as in the records.
type waitTracker struct {
	byTID        map[uint32]*wait
	watchedPIDs  map[uint32]bool // processes whose threads are read
	queue        []*wait         // threads to read, oldest first
	readBuf      []*wait         // the result of readQueued
	missingUntil uint64          // records up to this time may be missing
	now          uint64          // when this round started
	askedUntil   uint64          // callers have asked for samples up to this time
}

// wait is the last time that a thread left a CPU, and what was read of it since then.
type wait struct {
	pid       uint32
	copied    stackCopy   // the shortest copy of samples
	samples   []sampleKey // of the switch: several if several events sampled it
	resumedAt uint64      // when the thread last ran again
	state     waitState
	queued    bool
	queuedAt  uint64
	reading   offCPUReading // set in state waitRead
}

type waitState uint8

const (
	waitOver      waitState = iota // the thread runs, or may have run
	waitUnread                     // the thread waits
	waitRead                       // it was read, and may have run meanwhile
	waitConfirmed                  // it was read and did not run meanwhile: the reading is exact
)

// maxThreads is the most threads that a waitTracker remembers.
const maxThreads = 1 << 16

func newWaitTracker() waitTracker {
	return waitTracker{byTID: make(map[uint32]*wait), watchedPIDs: make(map[uint32]bool)}
}

// watch starts queueing the threads of process pid, and queues those that wait now. It queues threads that were
// read before once more: the process may have run another program then.
func (t *waitTracker) watch(pid uint32) {
	t.watchedPIDs[pid] = true
	for _, w := range t.byTID {
		if w.pid == pid && w.state != waitOver {
			w.state = waitUnread
			t.enqueue(w)
		}
	}
}

func (t *waitTracker) enqueue(w *wait) {
	if !w.queued {
		w.queued, w.queuedAt = true, t.now
		t.queue = append(t.queue, w)
	}
}

// thread returns what is known of a thread, which starts with a record of time when. If there are too many
// threads, it forgets them all.
func (t *waitTracker) thread(tid uint32, when uint64) *wait {
	w := t.byTID[tid]
	if w == nil {
		if len(t.byTID) >= maxThreads {
			for _, old := range t.byTID {
				when = max(when, old.resumedAt)
			}
			t.markMissing(when)
			clear(t.byTID)
		}
		w = &wait{}
		t.byTID[tid] = w
	}
	return w
}

// switchOut notes that a thread of process pid left its CPU at the sample key, which copied that much of its stack.
func (t *waitTracker) switchOut(pid uint32, key sampleKey, copied stackCopy) {
	w := t.thread(key.tid, key.time)
	last := uint64(0)
	if n := len(w.samples); n > 0 {
		last = w.samples[n-1].time
	}
	switch {
	case key.time < last, key.time < w.resumedAt, key.time <= t.missingUntil:
		return
	case w.state != waitOver && w.samples[0].cpu == key.cpu:
		// Two events sampled one switch: a thread cannot leave a CPU twice without running there in between.
		if w.state != waitConfirmed {
			w.samples = append(w.samples, key)
			w.copied.end = min(w.copied.end, copied.end)
		}
		return
	}
	w.pid, w.copied, w.samples, w.state = pid, copied, append(w.samples[:0], key), waitUnread
	if t.watchedPIDs[pid] {
		t.enqueue(w)
	}
}

// switchIn notes that a thread runs at time when. It may be called before switchOut notes the wait that ends there.
func (t *waitTracker) switchIn(tid uint32, when uint64) {
	if tid == 0 {
		return // the idle task
	}
	w := t.thread(tid, when)
	w.resumedAt = max(w.resumedAt, when)
	if w.state != waitOver && when >= w.samples[0].time {
		w.state = waitOver
	}
}

// markMissing notes that records up to a time may be missing, so that every thread may have run since.
func (t *waitTracker) markMissing(until uint64) {
	t.missingUntil = max(t.missingUntil, until)
	for _, w := range t.byTID {
		w.state = waitOver
	}
}

// maxQueueTime is how long a thread may be queued, in nanoseconds. The caller waits that long for the samples
// that come after it.
const maxQueueTime = 250e6

// readQueued calls read for the queued threads that still wait, in order, until the deadline. It takes at least one
// from the queue. It returns the threads for which read reported true, until the next call. It leaves out
// threads whose sample was asked for already, or that were queued for too long.
func (t *waitTracker) readQueued(read func(*wait) bool, deadline time.Time) []*wait {
	t.readBuf = t.readBuf[:0]
	n := 0
	for _, w := range t.queue {
		if n > 0 && !time.Now().Before(deadline) {
			break
		}
		n++
		w.queued = false
		if w.state != waitUnread {
			continue
		}
		w.state = waitOver
		if w.samples[len(w.samples)-1].time >= t.askedUntil && t.now <= w.queuedAt+maxQueueTime && read(w) {
			w.state = waitRead
			t.readBuf = append(t.readBuf, w)
		}
	}
	t.queue = append(t.queue[:0], t.queue[n:]...)
	return t.readBuf
}

// completeBefore returns the time before which it is known which waits were read. settled is the time up to
// which all records have been decoded.
func (t *waitTracker) completeBefore(settled uint64) uint64 {
	for _, w := range t.queue {
		if w.state == waitUnread {
			settled = min(settled, w.samples[0].time)
		}
	}
	return settled
}
