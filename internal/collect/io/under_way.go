package io

import (
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/perfevent"
)

// Follow handles threads that start and end, and exec.
func (c *Collector) Follow(rows *table.Rows, record perfevent.Record) {
	switch r := record.(type) {
	case *perfevent.Fork:
		c.known[r.TID] = true
		if c.descriptors != nil && r.PID != r.PPID {
			c.descriptors.born(r.PID, r.PPID)
		}
	case *perfevent.Exit:
		if call := c.calls[r.TID]; call != nil && call.under {
			rows.Add(call.row, ioTime, r.Time-min(call.since, r.Time))
		}
		delete(c.calls, r.TID)
		c.opens.take(r.TID)
		delete(c.known, r.TID)
		if r.PID != r.TID {
			return
		}
		if c.descriptors != nil {
			c.descriptors.forget(r.PID)
		}
		if _, uses := c.uringUsers[r.PID]; uses && c.uring != nil {
			c.uring.ended(r.PID)
		}
	case *perfevent.Comm:
		if c.descriptors != nil && r.Exec {
			c.descriptors.replaced(r.PID)
		}
	case *perfevent.Lost:
		c.lossy = true
	}
}

// End adds the time of calls in progress, up to the end of the window.
func (c *Collector) End(rows *table.Rows, now uint64) {
	for _, call := range c.calls {
		if !call.under {
			continue
		}
		if now > call.since {
			rows.Add(call.row, ioTime, now-call.since)
			call.since = now
		}
		rows.Keep(call.row)
	}
	if c.uring != nil {
		c.uring.end(rows, now)
	}
}

// Forget forgets the calls in progress, because they may have ended meanwhile.
func (c *Collector) Forget(uint64) {
	clear(c.calls)
	clear(c.known)
	if c.opens != nil {
		clear(c.opens.opening)
	}
	if c.uring != nil {
		clear(c.uring.pending)
	}
	if c.descriptors != nil {
		c.descriptors.forgetAll()
	}
}

// Bytes returns the memory of calls and descriptors.
func (c *Collector) Bytes() int {
	n := ioCallBytes * len(c.calls)
	if c.uring != nil {
		n += requestBytes * len(c.uring.pending)
	}
	if c.descriptors != nil {
		n += c.descriptors.bytes()
	}
	if c.opens != nil {
		n += openingBytes * len(c.opens.opening)
	}
	return n
}

// ioCallBytes is the memory of a thread's call.
const ioCallBytes = 128
