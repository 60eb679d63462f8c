package offcpu

import (
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// wokenBy stands between the stack of a sleeper and that of its waker.
const wokenBy = "--"

// woken joins the stack of the thread that runs to that of the one it wakes. What
// was counted of the wait in earlier windows stays where it is.
func (c *Collector) woken(rows *table.Rows, s *perfevent.Sample) {
	tid, ok := c.columns.woken.Int(s.Raw)
	t := c.threads[uint32(tid)]
	if !ok || t == nil || t.state != waiting || t.joined || t.column != voluntaryTime {
		return
	}
	t.joined = true
	waker := rows.Of(s)
	t.row = rows.Join(t.row, wokenBy, waker, rows.Comm(waker))
}
