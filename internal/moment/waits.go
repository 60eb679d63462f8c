package moment

import "time"

// waits are the threads that have left a CPU, as the records of the rings tell it. Those of one
// CPU come in their order, and those of another one before or after: the times decide.
type waits struct {
	by     map[uint32]*wait // by thread
	wanted map[uint32]bool  // processes whose threads are to be read
	queue  []*wait          // that are to be, oldest first
	read   []*wait          // room
	missed uint64           // until then records may be missing
	now    uint64           // when this round began
	asked  uint64           // samples before that time have been asked for
}

// wait is what is known of a thread.
type wait struct {
	pid     uint32
	copied  copied    // by that of samples which has least
	samples []sampled // of the last switch away: more than one where two events see it
	end     uint64    // when it went on last
	state   waitState
	queued  bool
	since   uint64  // when it was queued
	reading reading // that makes it isRead
}

type waitState uint8

const (
	isOver   waitState = iota // the thread has gone on, or may have
	isUnread                  // it waits
	isRead                    // and was read since
	isKnown                   // and did not go on meanwhile
)

// maxWaits bounds the threads that are known.
const maxWaits = 1 << 16

func newWaits() waits { return waits{by: make(map[uint32]*wait), wanted: make(map[uint32]bool)} }

// want has the threads of a process read, also those that wait already. Some may have been read
// as those of the program that the process was before.
func (ws *waits) want(pid uint32) {
	ws.wanted[pid] = true
	for _, w := range ws.by {
		if w.pid == pid && w.state != isOver {
			w.state = isUnread
			ws.enqueue(w)
		}
	}
}

func (ws *waits) enqueue(w *wait) {
	if !w.queued {
		w.queued, w.since = true, ws.now
		ws.queue = append(ws.queue, w)
	}
}

// of is what is known of a thread, at some time.
func (ws *waits) of(tid uint32, now uint64) *wait {
	w := ws.by[tid]
	if w == nil {
		if len(ws.by) >= maxWaits {
			for _, other := range ws.by {
				now = max(now, other.end)
			}
			ws.miss(now)
			clear(ws.by)
		}
		w = &wait{}
		ws.by[tid] = w
	}
	return w
}

// begins is a sample of a switch away from a thread.
func (ws *waits) begins(pid uint32, s sampled, has copied) {
	w := ws.of(s.tid, s.time)
	last := uint64(0)
	if n := len(w.samples); n > 0 {
		last = w.samples[n-1].time
	}
	switch {
	case s.time < last, s.time < w.end, s.time <= ws.missed:
		return
	case w.state != isOver && w.samples[0].cpu == s.cpu:
		// It can't have left the CPU twice without having come there in between.
		if w.state != isKnown {
			w.samples = append(w.samples, s)
			w.copied.end = min(w.copied.end, has.end)
		}
		return
	}
	w.pid, w.copied, w.samples, w.state = pid, has, append(w.samples[:0], s), isUnread
	if ws.wanted[pid] {
		ws.enqueue(w)
	}
}

// ends says that a thread runs. That it had waited before may be seen later.
func (ws *waits) ends(tid uint32, at uint64) {
	if tid == 0 {
		return // idle tasks wait for nothing
	}
	w := ws.of(tid, at)
	w.end = max(w.end, at)
	if w.state != isOver && at >= w.samples[0].time {
		w.state = isOver
	}
}

// miss says that records of times before now may be missing: every thread may have gone on.
func (ws *waits) miss(now uint64) {
	ws.missed = max(ws.missed, now)
	for _, w := range ws.by {
		w.state = isOver
	}
}

// maxQueued is how long a thread may have to wait until it is read, in nanoseconds: what comes after its
// sample waits as long.
const maxQueued = 250e6

// take has the threads read that wait and were not yet, until that takes too long. It returns those
// that were read, until the next call. A reading that nobody would ask for is not made.
func (ws *waits) take(read func(*wait) bool, until time.Time) []*wait {
	ws.read = ws.read[:0]
	n := 0
	for _, w := range ws.queue {
		if n > 0 && !time.Now().Before(until) {
			break
		}
		n++
		w.queued = false
		if w.state != isUnread {
			continue
		}
		w.state = isOver
		if w.samples[len(w.samples)-1].time >= ws.asked && ws.now <= w.since+maxQueued && read(w) {
			w.state = isRead
			ws.read = append(ws.read, w)
		}
	}
	ws.queue = append(ws.queue[:0], ws.queue[n:]...)
	return ws.read
}

// known is until when it is known which waits are read, where that time of the records is.
func (ws *waits) known(records uint64) uint64 {
	for _, w := range ws.queue {
		if w.state == isUnread {
			records = min(records, w.samples[0].time)
		}
	}
	return records
}
