package offcpu

import (
	"errors"

	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// Fallback takes the kernel's records of switches in place of the tracepoint, which
// only root and CAP_PERFMON may read, and then a clock's stacks.
func (c *Collector) Fallback(err error) (note string, ok bool) {
	refused := errors.Is(err, perfevent.ErrPermission) || errors.Is(err, perfevent.ErrKernelExcluded) || errors.Is(err, perfevent.ErrNoEvent)
	switch {
	case refused && c.source == fromTracepoint && !c.opts.Whole:
		c.source = fromCounter
		c.roles = c.chooseRoles()
		return "", true // if that is refused as well it says why
	case errors.Is(err, perfevent.ErrKernelExcluded) && c.source == fromCounter:
		c.source = fromRecords
		c.roles = c.chooseRoles()
		c.opts.Stacks.Kernel = false
		note := "off-cpu: no kernel stacks; a user stack is the one its thread had when the clock last sampled it (" +
			lastSeen + "), which may be long before the wait, and a thread that runs too little to be seen has none: " + table.Hint(err)
		if c.opts.Waking != nil {
			note += "; no wakers"
		}
		return note, true
	}
	return "", false
}
