package offcpu

import (
	"errors"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/perfevent"
)

// Fallback uses the kernel's switch records instead of the tracepoint, which needs root or
// CAP_PERFMON. The next fallback takes stacks from a clock.
func (c *Collector) Fallback(err error) (note string, ok bool) {
	refused := errors.Is(err, perfevent.ErrPermission) || errors.Is(err, perfevent.ErrKernelExcluded) || errors.Is(err, perfevent.ErrNoEvent)
	switch {
	case refused && c.source == fromTracepoint && !c.opts.Whole:
		c.source = fromCounter
		c.roles = c.chooseRoles()
		return "", true // if that is refused too, its error says why
	case errors.Is(err, perfevent.ErrKernelExcluded) && c.source == fromCounter:
		c.source = fromRecords
		c.roles = c.chooseRoles()
		c.opts.Stacks.Kernel = false
		note := "off-cpu: no kernel stacks; a user stack is the one its thread had when the clock last sampled it (" +
			lastSeen + "), which may be long before the wait, and a thread that runs too little to be seen has none: " + table.Hint(err)
		if c.opts.waking != nil {
			note += "; no wakers"
		}
		return note, true
	}
	return "", false
}
