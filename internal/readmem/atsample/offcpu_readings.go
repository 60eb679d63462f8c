package atsample

import (
	"maps"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/perfevent"
)

// maxHeldBytes is the most bytes of stacks in readings that no caller has asked for yet.
const maxHeldBytes = 48 << 20

// stackBytes returns how many bytes of stacks c has.
func stackBytes(c *Calls) int {
	pages := len(c.Beyond.Pages) + len(c.Beyond.Top.Pages)
	for i := range c.Others {
		pages += len(c.Others[i].Pages)
	}
	return pages * callchain.PageSize
}

// store keeps a reading for the caller who will ask for one of the samples. If there are too many bytes of stacks,
// it keeps only the calls. o.mu is held.
func (o *offCPUReader) store(r offCPUReading, samples []sampleKey) {
	if len(o.readings)+len(samples) > maxReadings {
		clear(o.readings)
		o.heldBytes = 0
	}
	for _, s := range samples {
		if o.heldBytes+stackBytes(&r.calls) > maxHeldBytes {
			r.calls.Beyond, r.calls.Others = callchain.Beyond{}, nil
		}
		o.take(s)
		o.heldBytes += stackBytes(&r.calls)
		o.readings[s] = r
	}
}

// take removes the reading of a sample and returns it, or a zero reading if there is none. o.mu is held.
func (o *offCPUReader) take(s sampleKey) offCPUReading {
	r := o.readings[s]
	o.heldBytes -= stackBytes(&r.calls)
	delete(o.readings, s)
	return r
}

// callsAt returns what was read at s, which starts a wait. It blocks until it is known whether the wait was read,
// but not longer than readingTimeout after the sample.
func (o *offCPUReader) callsAt(s *perfevent.Sample) Calls {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.askedUntil = max(o.askedUntil, s.Time)
	p := o.processes[s.PID]
	if p == nil {
		return Calls{}
	}
	for !o.ended && (p.isNew || o.completeBefore <= s.Time) && perfevent.Now() < s.Time+uint64(readingTimeout) {
		o.changed.Wait()
	}
	r := o.take(sampleKey{s.CPU, s.TID, s.Time})
	if r.process != p {
		return Calls{} // the process ran another program then
	}
	return r.calls
}

// sweep forgets processes that have ended, and readings older than readingTTL. o.mu is held.
func (o *offCPUReader) sweep() {
	for s := range o.readings {
		if s.time+uint64(readingTTL) < o.sweptAt {
			o.take(s)
		}
	}
	o.processes = maps.Clone(o.processes)
	maps.DeleteFunc(o.processes, func(pid uint32, _ *waitingProcess) bool {
		ended := unix.Kill(int(pid), 0) == unix.ESRCH
		if ended {
			delete(o.waits.watchedPIDs, pid)
		}
		return ended
	})
}
