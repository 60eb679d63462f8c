package llc

import (
	"fmt"
	"io"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/questions"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// Open makes the collector of a run, with a sample for so many events of each counter.
func Open(run *questions.Run, period uint64) ([]table.Collector, error) {
	collector := New(period, run.Stacks())
	if err := collector.Available(); err != nil {
		return nil, err
	}
	run.Say(collector.saySharing)
	return []table.Collector{collector}, nil
}

// saySharing says how long the counters have counted, if that was not all the time.
func (c *Collector) saySharing(w io.Writer) {
	misses, references := c.Shared()
	say := func(event perfevent.Event, r perfevent.Running) {
		switch name := escape.Text(event.String()); {
		case r.Enabled > 0 && r.Counted == 0:
			fmt.Fprintf(w, "%s did not count, because all counters of the CPU were in use\n", name)
		case r.Counted < r.Enabled/100*99:
			fmt.Fprintf(w, "%s counted %.0f%% of the time, because it shared the CPU's counters; the numbers are scaled up\n",
				name, 100*float64(r.Counted)/float64(r.Enabled))
		}
	}
	say(c.Misses, misses)
	say(c.References, references)
}
