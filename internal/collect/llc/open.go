package llc

import (
	"fmt"
	"io"

	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/perfevent"
)

// Open returns the collector of a run. period is how many events of each counter make a sample.
func Open(run *collect.Run, period uint64) ([]table.Collector, error) {
	collector := New(period, run.Stacks())
	if err := collector.available(); err != nil {
		return nil, err
	}
	run.Say(collector.saySharing)
	return []table.Collector{collector}, nil
}

// saySharing writes how much of the time each counter counted, unless it was all the time.
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
