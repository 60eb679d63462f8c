package memleak

import (
	"cmp"
	"slices"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/probe/pair"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// space returns the holdings of a process.
func (c *Collector) space(pid uint32) *holdings {
	space := c.spaces[pid]
	if space == nil {
		space = newHoldings(&c.options, c.memory)
		c.spaces[pid] = space
	}
	return space
}

// forgetSpace forgets the holdings of a process.
func (c *Collector) forgetSpace(pid uint32) {
	if space := c.spaces[pid]; space != nil {
		space.clear()
		delete(c.spaces, pid)
	}
}

// Follow handles the end of processes, exec, and PIDs that are reused.
func (c *Collector) Follow(rows *table.Rows, record perfevent.Record) {
	c.calls.Handle(record)
	switch r := record.(type) {
	case *perfevent.Lost:
		c.lost = true
	case *perfevent.Exit:
		if space := c.spaces[r.PID]; space != nil && (r.PID == r.TID || space.ended > 0) {
			space.ended = max(r.Time, 1)
		}
	case *perfevent.Comm:
		if r.Exec {
			c.forgetSpace(r.PID)
			if c.goHeaps != nil {
				delete(c.goHeaps.heaps, int(r.PID)) // another program is in the process now
			}
		}
	case *perfevent.Fork:
		// The previous process with this PID has ended.
		if space := c.spaces[r.PID]; space != nil && r.PID == r.TID {
			if c.Ended {
				space.report(rows.AddLast, cmp.Or(space.ended, r.Time))
			}
			c.forgetSpace(r.PID)
		}
	}
}

// End adds the memory that is not free.
func (c *Collector) End(rows *table.Rows, now uint64) {
	c.options.begin, c.options.reading = rows.Begin(), Reading{}
	if c.goHeaps != nil {
		c.goHeaps.end(rows)
	}
	for pid, space := range c.spaces {
		switch over := space.ended > 0 && !threadsGoOn(c.options.host, pid); {
		case !over:
			space.report(rows.Add, now)
			space.tidy(rows)
			continue
		case c.Ended:
			space.report(rows.AddLast, space.ended)
		}
		c.forgetSpace(pid)
	}
	c.calls.Each(func(call *pair.Call[*leakCall]) {
		rows.Keep(call.Payload.caller.row)
		rows.Keep(call.Payload.caller.native)
		call.Payload.freedSite.keep(rows)
	})
}

// threadsGoOn reports whether a process still has threads after its first one has ended.
func threadsGoOn(host process.Host, pid uint32) bool {
	threads, _ := host.Threads(int(pid)) // none if the process has ended
	return slices.ContainsFunc(threads, func(tid int) bool { return tid != int(pid) })
}

// Bytes returns the memory of the collector.
func (c *Collector) Bytes() int {
	return c.memory.bytes + c.calls.Bytes()
}

// Forget forgets everything: memory freed in the gap would count as leaked forever.
func (c *Collector) Forget(uint64) {
	c.calls.Lost()
	for pid := range c.spaces {
		c.forgetSpace(pid)
	}
}
